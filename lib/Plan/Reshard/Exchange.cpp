//===- Exchange.cpp - Who sends which slices to whom ----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Reshard/Exchange.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <tuple>
#include <unordered_map>

namespace braid::plan {

int64_t Exchange::elements() const {
  int64_t elements = 0;
  for (const Message &message : messages)
    elements += message.elements;
  return elements;
}

namespace {
/// What one destination part of a dimension takes from one source part.
struct Overlap {
  int part = 0; // of the source
  int64_t size = 0;
  std::vector<SliceDim> segments;
};

/// Lanes by the region that they hold: those of region r are lanes[start[r]] to lanes[start[r + 1]].
struct Regions {
  std::vector<int> start, lanes;

  explicit Regions(const Division &division) {
    int count = 1;
    for (const DividedDim &dim : division.dims)
      count *= static_cast<int>(dim.parts.size());
    std::vector<int> regionOf(division.mesh->lanes());
    start.assign(count + 1, 0);
    for (int lane = 0; lane < division.mesh->lanes(); ++lane) {
      int region = 0;
      for (size_t dim = 0; dim < division.dims.size(); ++dim)
        region =
            region * static_cast<int>(division.dims[dim].parts.size()) + division.partOf(lane, static_cast<int>(dim));
      regionOf[lane] = region;
      ++start[region + 1];
    }
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<int> next(start.begin(), start.end() - 1);
    lanes.resize(division.mesh->lanes());
    for (int lane = 0; lane < division.mesh->lanes(); ++lane)
      lanes[next[regionOf[lane]]++] = lane;
  }
};

/// A destination region's need of a source region: one overlap for each dimension.
struct Need {
  int region = 0; // of the destination
  std::vector<const Overlap *> dims;
  int64_t elements = 0;
};

class ExchangePlanner {
public:
  ExchangePlanner(const Division &source, const Division &destination, const Network &links, bool nearFirst)
      : source(source), destination(destination), links(links), nearFirst(nearFirst), sourceRegions(source),
        destinationRegions(destination) {}

  Exchange run() {
    for (size_t dim = 0; dim < source.dims.size(); ++dim)
      overlaps.push_back(intersect(source.dims[dim], destination.dims[dim]));
    collectNeeds();
    for (size_t region = 0; region < needs.size(); ++region)
      if (!needs[region].empty())
        serve(static_cast<int>(region));
    return std::move(exchange);
  }

private:
  const Division &source, &destination;
  const Network &links;
  bool nearFirst;
  Regions sourceRegions, destinationRegions;
  std::vector<std::vector<std::vector<Overlap>>> overlaps; // [dim][destination part]
  std::vector<std::vector<Need>> needs;                    // [source region]
  Exchange exchange;
  std::unordered_map<uint64_t, size_t> messageOf; // (source lane, destination lane) -> place in exchange.messages

  /// For each destination part what it takes from which source parts. Source parts do not overlap.
  static std::vector<std::vector<Overlap>> intersect(const DividedDim &from, const DividedDim &to) {
    struct Held {
      Interval interval;
      int64_t offset;
      int part;
    };
    std::vector<Held> held;
    for (size_t part = 0; part < from.parts.size(); ++part) {
      int64_t offset = 0;
      for (const Interval &interval : from.parts[part]) {
        held.push_back({interval, offset, static_cast<int>(part)});
        offset += interval.size();
      }
    }
    std::sort(held.begin(), held.end(),
              [](const Held &a, const Held &b) { return a.interval.begin < b.interval.begin; });
    std::vector<std::vector<Overlap>> result;
    std::vector<int> place(from.parts.size(), -1); // of a source part in the current result
    for (const Intervals &part : to.parts) {
      std::vector<Overlap> &found = result.emplace_back();
      int64_t offset = 0;
      for (const Interval &want : part) {
        auto at = std::upper_bound(held.begin(), held.end(), want.begin,
                                   [](int64_t begin, const Held &entry) { return begin < entry.interval.end; });
        for (; at != held.end() && at->interval.begin < want.end; ++at) {
          int64_t begin = std::max(want.begin, at->interval.begin), end = std::min(want.end, at->interval.end);
          if (place[at->part] < 0) {
            place[at->part] = static_cast<int>(found.size());
            found.push_back({at->part, 0, {}});
          }
          Overlap &overlap = found[place[at->part]];
          SliceDim next{at->offset + begin - at->interval.begin, offset + begin - want.begin, end - begin};
          overlap.size += next.size;
          if (!overlap.segments.empty() && overlap.segments.back().from + overlap.segments.back().size == next.from &&
              overlap.segments.back().to + overlap.segments.back().size == next.to)
            overlap.segments.back().size += next.size;
          else
            overlap.segments.push_back(next);
        }
        offset += want.size();
      }
      for (const Overlap &overlap : found)
        place[overlap.part] = -1;
    }
    return result;
  }

  /// Calls visit for every combination of one entry per list.
  template <typename Lists, typename Visit> static void forEachCombination(const Lists &lists, Visit visit) {
    std::vector<size_t> at(lists.size());
    for (const auto &list : lists)
      if (list.empty())
        return;
    while (true) {
      visit(at);
      size_t dim = lists.size();
      while (dim > 0 && ++at[dim - 1] == lists[dim - 1].size())
        at[--dim] = 0;
      if (dim == 0)
        return;
    }
  }

  void collectNeeds() {
    needs.resize(sourceRegions.start.size() - 1);
    int regions = static_cast<int>(destinationRegions.start.size()) - 1;
    for (int region = 0; region < regions; ++region) {
      if (destinationRegions.start[region] == destinationRegions.start[region + 1])
        continue;
      std::vector<std::span<const Overlap>> lists(destination.dims.size());
      for (int dim = static_cast<int>(lists.size()) - 1, rest = region; dim >= 0; --dim) {
        int parts = static_cast<int>(destination.dims[dim].parts.size());
        lists[dim] = overlaps[dim][rest % parts];
        rest /= parts;
      }
      forEachCombination(lists, [&](const std::vector<size_t> &at) {
        Need need{region, {}, 1};
        int from = 0;
        for (size_t dim = 0; dim < lists.size(); ++dim) {
          const Overlap &overlap = lists[dim][at[dim]];
          need.dims.push_back(&overlap);
          need.elements *= overlap.size;
          from = from * static_cast<int>(source.dims[dim].parts.size()) + overlap.part;
        }
        if (need.elements > 0)
          needs[from].push_back(std::move(need));
      });
    }
  }

  struct Delivery {
    const Need *need;
    int lane; // of the destination
  };

  /// Divides what all receivers need of one source region over the lanes that hold it.
  void serve(int region) {
    std::span<const int> holders(sourceRegions.lanes.data() + sourceRegions.start[region],
                                 sourceRegions.lanes.data() + sourceRegions.start[region + 1]);
    if (holders.empty())
      return;
    std::unordered_map<int, int> holderOf; // rank -> lane
    std::unordered_map<int, std::vector<int>> near;
    for (int lane : holders) {
      int rank = source.mesh->ranks[lane];
      holderOf.emplace(rank, lane);
      if (nearFirst)
        near[links.nodeOf(rank)].push_back(lane);
    }
    std::vector<Delivery> rest;
    std::unordered_map<int, std::vector<Delivery>> nearby; // by node
    std::vector<int> nodes;
    for (const Need &need : needs[region])
      for (int i = destinationRegions.start[need.region]; i < destinationRegions.start[need.region + 1]; ++i) {
        int lane = destinationRegions.lanes[i], rank = destination.mesh->ranks[lane], node = links.nodeOf(rank);
        if (auto local = holderOf.find(rank); local != holderOf.end()) {
          send(local->second, {&need, lane}, 0, 0, need.dims[0]->size);
        } else if (nearFirst && near.count(node)) {
          if (nearby[node].empty())
            nodes.push_back(node);
          nearby[node].push_back({&need, lane});
        } else {
          rest.push_back({&need, lane});
        }
      }
    for (int node : nodes)
      divideAmong(near[node], nearby[node]);
    divideAmong(holders, rest);
  }

  /// Lays the deliveries end to end and cuts the line into equal parts, one for each sender.
  void divideAmong(std::span<const int> senders, const std::vector<Delivery> &deliveries) {
    int64_t total = 0;
    for (const Delivery &delivery : deliveries)
      total += delivery.need->elements;
    int64_t count = static_cast<int64_t>(senders.size()), start = 0;
    // Cuts are at whole indices of one dimension: the outermost that is fine enough, so that pieces are contiguous.
    for (const Delivery &delivery : deliveries) {
      size_t cut = 0;
      for (size_t dim = 0; dim < delivery.need->dims.size(); ++dim)
        if (int64_t size = delivery.need->dims[dim]->size; size > delivery.need->dims[cut]->size) {
          if (delivery.need->dims[cut]->size >= count)
            break;
          cut = dim;
        }
      int64_t units = delivery.need->dims[cut]->size, unit = delivery.need->elements / units;
      // The cut after sender i lies at total * (i + 1) / count of the line.
      auto unitAt = [&](int64_t sender) {
        int64_t at = static_cast<int64_t>(static_cast<__int128>(total) * sender / count) - start;
        return std::clamp<int64_t>((at + unit / 2) / unit, 0, units);
      };
      int64_t first = static_cast<int64_t>(static_cast<__int128>(start) * count / std::max<int64_t>(total, 1));
      for (int64_t sender = std::max<int64_t>(0, first - 1); sender < count; ++sender) {
        int64_t from = unitAt(sender), to = sender + 1 == count ? units : unitAt(sender + 1);
        if (sender == 0)
          from = 0;
        if (from < to)
          send(senders[sender], delivery, cut, from, to);
        if (to == units)
          break;
      }
      start += delivery.need->elements;
    }
  }

  /// Sends what lies at indices [begin, end) of dimension `cut` of the need.
  void send(int from, const Delivery &delivery, size_t cut, int64_t begin, int64_t end) {
    const Need &need = *delivery.need;
    std::vector<SliceDim> clipped;
    int64_t at = 0;
    for (const SliceDim &segment : need.dims[cut]->segments) {
      int64_t low = std::max(begin, at), high = std::min(end, at + segment.size);
      if (low < high)
        clipped.push_back({segment.from + low - at, segment.to + low - at, high - low});
      at += segment.size;
    }
    std::vector<std::span<const SliceDim>> lists;
    for (size_t dim = 0; dim < need.dims.size(); ++dim)
      lists.push_back(dim == cut ? clipped : need.dims[dim]->segments);
    Message &message = messageBetween(from, delivery.lane);
    forEachCombination(lists, [&](const std::vector<size_t> &place) {
      Slice &slice = message.slices.emplace_back();
      int64_t elements = 1;
      for (size_t dim = 0; dim < lists.size(); ++dim) {
        slice.push_back(lists[dim][place[dim]]);
        elements *= slice.back().size;
      }
      message.elements += elements;
    });
  }

  Message &messageBetween(int fromLane, int toLane) {
    int from = source.mesh->ranks[fromLane], to = destination.mesh->ranks[toLane];
    std::vector<Message> &list = from == to ? exchange.copies : exchange.messages;
    auto [at, added] = messageOf.try_emplace(uint64_t(fromLane) << 32 | uint32_t(toLane), list.size());
    if (added)
      list.push_back({from, to, fromLane, toLane, 0, {}, 0});
    return list[at->second];
  }
};
} // namespace

/// Gives every message the first round in which both its ends are free, then sorts by round. Messages are taken by how
/// far the receiver's number is ahead of the sender's, so that an exchange of all with all takes one round per shift.
static void orderByRounds(Exchange &exchange) {
  std::vector<Message> &messages = exchange.messages;
  std::vector<int> senders, receivers, ranks;
  for (const Message &message : messages) {
    senders.push_back(message.from);
    receivers.push_back(message.to);
  }
  auto unique = [](std::vector<int> &list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  unique(senders);
  unique(receivers);
  std::merge(senders.begin(), senders.end(), receivers.begin(), receivers.end(), std::back_inserter(ranks));
  unique(ranks);
  auto place = [](const std::vector<int> &list, int rank) {
    return static_cast<int>(std::lower_bound(list.begin(), list.end(), rank) - list.begin());
  };
  int shifts = static_cast<int>(std::max(senders.size(), receivers.size()));
  std::vector<int> shift(messages.size()), order(messages.size());
  for (size_t i = 0; i < messages.size(); ++i)
    shift[i] = (place(receivers, messages[i].to) - place(senders, messages[i].from) + shifts) % std::max(shifts, 1);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::tuple(shift[a], messages[a].from, messages[a].to) <
           std::tuple(shift[b], messages[b].from, messages[b].to);
  });
  std::vector<std::vector<uint64_t>> taken(ranks.size()); // one bit for each round
  for (int index : order) {
    Message &message = messages[index];
    std::vector<uint64_t> &from = taken[place(ranks, message.from)], &to = taken[place(ranks, message.to)];
    size_t word = 0;
    uint64_t free = 0;
    for (;; ++word) {
      free = ~((word < from.size() ? from[word] : 0) | (word < to.size() ? to[word] : 0));
      if (free)
        break;
    }
    int bit = std::countr_zero(free);
    message.round = static_cast<int>(word) * 64 + bit;
    for (std::vector<uint64_t> *bits : {&from, &to}) {
      if (bits->size() <= word)
        bits->resize(word + 1);
      (*bits)[word] |= uint64_t(1) << bit;
    }
    exchange.rounds = std::max(exchange.rounds, message.round + 1);
  }
  auto before = [](const Message &a, const Message &b) {
    return std::tuple(a.round, a.from, a.to) < std::tuple(b.round, b.from, b.to);
  };
  std::sort(messages.begin(), messages.end(), before);
  std::sort(exchange.copies.begin(), exchange.copies.end(), before);
}

Exchange planExchange(const Division &source, const Division &destination, const Network &links, bool nearFirst) {
  Exchange exchange = ExchangePlanner(source, destination, links, nearFirst).run();
  orderByRounds(exchange);
  return exchange;
}

Exchange transposed(const Exchange &exchange) {
  Exchange result = exchange;
  for (std::vector<Message> *list : {&result.messages, &result.copies})
    for (Message &message : *list) {
      std::swap(message.from, message.to);
      std::swap(message.fromLane, message.toLane);
      for (Slice &slice : message.slices)
        for (SliceDim &dim : slice)
          std::swap(dim.from, dim.to);
    }
  return result;
}

double exchangeTime(const Exchange &exchange, int64_t elementBytes, const Network &links) {
  std::unordered_map<int, double> sending, receiving;
  double most = 0;
  for (const Message &message : exchange.messages) {
    double time = links.between(message.from, message.to).time(double(message.elements) * double(elementBytes));
    most = std::max({most, sending[message.from] += time, receiving[message.to] += time});
  }
  return most;
}

double blockingTime(const Exchange &exchange, int64_t elementBytes, const Network &links) {
  std::unordered_map<int, double> ready;
  double most = 0;
  for (const Message &message : exchange.messages) {
    double &from = ready[message.from], &to = ready[message.to];
    from = to = std::max(from, to) +
                links.between(message.from, message.to).time(double(message.elements) * double(elementBytes));
    most = std::max(most, from);
  }
  return most;
}

} // namespace braid::plan
