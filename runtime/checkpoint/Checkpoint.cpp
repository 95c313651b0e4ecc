//===- Checkpoint.cpp - Saving and resuming training ----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/Export.h"
#include "runtime/checkpoint/RunFolder.h"
#include "runtime/core/Json.h"

#include "braid/Plan/Support/Files.h"
#include "braid/Plan/Support/Text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace braid;
using namespace braid::runtime;
namespace fs = std::filesystem;

static constexpr int checkpointFormat = 2;
static constexpr const char *stateName = "state.json", *optimizerName = "optimizer.safetensors";

static std::string planHash(const Program &program) {
  return plan::hex(XXH64(program.planText.data(), program.planText.size(), 0));
}

/// The names of a parameter's state, "net.fc.weight.exp_avg" and so on, in the optimizer's order.
static std::vector<std::string> stateNames(const Optimizer &optimizer, const std::string &parameter) {
  std::vector<std::string> names;
  for (const char *name : optimizer.stateNames())
    names.push_back(parameter + "." + name);
  return names;
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

static plan::Error failure(const char *what, const fs::path &path) {
  return plan::Error{text("cannot ", what, " ", path.string(), " for a checkpoint: ", std::strerror(errno))};
}

static plan::Status writeDurably(const fs::path &path, const std::string &bytes) {
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0)
    return failure("create", path);
  ssize_t written = 0;
  for (size_t done = 0; done < bytes.size() && written >= 0; done += written)
    written = write(file, bytes.data() + done, bytes.size() - done);
  plan::Status status = written >= 0 && fsync(file) == 0 ? plan::Status() : failure("write", path);
  close(file);
  return status;
}

static plan::Status syncFolder(const fs::path &path) {
  int file = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0)
    return failure("open", path);
  plan::Status status = fsync(file) == 0 ? plan::Status() : failure("sync", path);
  close(file);
  return status;
}

/// xxh64 of a file's bytes.
static plan::Result<std::string> digestOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return plan::Error{text("cannot read ", path.string(), ": ", std::strerror(errno))};
  XXH64_state_t state;
  XXH64_reset(&state, 0);
  std::vector<char> buffer(1 << 20);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || file.gcount() > 0)
    XXH64_update(&state, buffer.data(), static_cast<size_t>(file.gcount()));
  if (file.bad())
    return plan::Error{text("cannot read ", path.string(), " to its end")};
  return plan::hex(XXH64_digest(&state));
}

/// Where a checkpoint is before it is whole, and while it is being removed.
static fs::path temporaryOf(const fs::path &path) {
  return path.parent_path() / text(".", path.filename().string(), ".tmp");
}

/// Removes what was left where a run ended in the middle of saving or removing.
static void removeLeftovers(const fs::path &folder) {
  std::error_code ignored;
  std::vector<fs::path> leftovers;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, ignored))
    if (std::string name = entry.path().filename().string();
        name.compare(0, 5, ".step") == 0 && entry.path().extension() == ".tmp")
      leftovers.push_back(entry.path());
  for (const fs::path &path : leftovers)
    fs::remove_all(path, ignored);
}

/// Takes its name from a checkpoint first, so that one that has its name is whole. What cannot be removed stays.
static void removeCheckpoint(const fs::path &path) {
  std::error_code error;
  fs::rename(path, temporaryOf(path), error);
  if (!error)
    fs::remove_all(temporaryOf(path), error);
}

/// Gives the folder its name. One of that name, of a run that was taken up at an earlier step, changes places with it.
static plan::Status publish(const fs::path &temporary, const fs::path &path) {
  std::error_code error;
  if (fs::exists(path, error)) {
    if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) != 0)
      return failure("replace", path);
  } else if (rename(temporary.c_str(), path.c_str()) != 0) {
    return failure("rename", temporary);
  }
  if (plan::Status status = syncFolder(path.parent_path()); !status)
    return status;
  fs::remove_all(temporary, error);
  return {};
}

/// The checkpoints of a run, by step.
static std::map<int64_t, fs::path> list(const fs::path &folder) {
  std::map<int64_t, fs::path> found;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    int64_t step = 0;
    if (name.compare(0, 4, "step") != 0)
      continue;
    std::from_chars_result read = std::from_chars(name.data() + 4, name.data() + name.size(), step);
    if (read.ec == std::errc() && read.ptr == name.data() + name.size())
      found[step] = entry.path();
  }
  return found;
}

plan::Status runtime::saveCheckpoint(const Program &program, int rank, Transport *transport,
                                     const ParameterStore &parameters, const Weights &weights,
                                     const Optimizer &optimizer, const TrainingState &state, const std::string &out,
                                     int64_t keep) {
  fs::path folder = fs::path(out) / checkpointsName, path = folder / text("step", state.step);
  fs::path temporary = temporaryOf(path);
  if (rank == 0) {
    std::error_code error;
    removeLeftovers(folder);
    fs::create_directories(temporary, error);
    if (error)
      return plan::Error{text("cannot create ", temporary.string(), " for a checkpoint: ", error.message())};
  }
  if (plan::Status status =
          exportModel(program, rank, transport, parameters, weights, (temporary / modelName).string());
      !status)
    return status;
  std::vector<GatheredTensor> tensors;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const ModelParameter &parameter = program.parameters[i];
    std::vector<std::string> names = stateNames(optimizer, parameter.name);
    for (size_t part = 0; parameter.updated && part < names.size(); ++part) {
      bool counter = optimizer.isCounter(part);
      tensors.push_back({names[part], counter ? BRAID_F32 : parameter.dtype,
                         counter ? std::vector<int64_t>() : parameter.shape, program.rankOf(parameter), [&, i, part] {
                           int number = static_cast<int>(i);
                           return optimizer.state(number, parameters.parameter(number))[part];
                         }});
    }
  }
  if (plan::Status status = gatherTensors(rank, transport, tensors, (temporary / optimizerName).string()); !status)
    return status;
  if (rank != 0)
    return {};

  nlohmann::ordered_json json;
  json["format"] = checkpointFormat;
  json["step"] = state.step;
  json["position"] = state.position;
  json["optimizer"] = optimizer.name();
  json["state"] = optimizer.stateNames();
  json["settings"] = state.settings;
  json["model"] = program.weights.digest;
  json["plan"] = planHash(program);
  json["world_size"] = program.worldSize;
  for (const char *name : {modelName, optimizerName}) {
    plan::Result<std::string> digest = digestOf(temporary / name);
    if (!digest)
      return plan::Error{digest.error()};
    json["files"][name] = *digest;
  }
  if (plan::Status status = writeDurably(temporary / stateName, json.dump(1) + "\n"); !status)
    return status;
  if (plan::Status status = syncFolder(temporary); !status)
    return status;
  if (plan::Status status = publish(temporary, path); !status)
    return status;
  std::map<int64_t, fs::path> all = list(folder);
  for (auto later = all.upper_bound(state.step); later != all.end(); later = all.erase(later))
    removeCheckpoint(later->second); // of what the run did before it was taken up at an earlier step
  for (auto entry = all.begin(); keep > 0 && int64_t(all.size()) > keep; entry = all.erase(entry))
    removeCheckpoint(entry->second);
  return {};
}

//===----------------------------------------------------------------------===//
// Resuming
//===----------------------------------------------------------------------===//

static plan::Result<fs::path> latest(const std::string &path) {
  std::error_code error;
  if (fs::exists(fs::path(path) / stateName, error))
    return fs::path(path);
  std::map<int64_t, fs::path> all = list(fs::path(path) / checkpointsName);
  if (!all.empty())
    return all.rbegin()->second;
  if (!fs::exists(path, error))
    return plan::Error{text("cannot resume: there is no ", path)};
  return plan::Error{text("cannot resume: ", path, " is no checkpoint (it has no ", stateName,
                          ") and no run with checkpoints; give the folder of --out, or one below its ",
                          checkpointsName)};
}

plan::Result<Checkpoint> Checkpoint::open(const Program &program, const OptimizerSettings &settings,
                                          const std::string &given) {
  plan::Result<fs::path> folder = latest(given);
  if (!folder)
    return plan::Error{folder.error()};
  std::string statePath = (*folder / stateName).string();
  if (plan::Status status = plan::checkRegularFile(statePath); !status)
    return plan::Error{text("cannot resume: ", status.error())};
  TrainingState state;
  try {
    std::ifstream file(statePath);
    nlohmann::json json = nlohmann::json::parse(file);
    JsonNode node(json, "");
    if (int64_t format = node["format"].integer(); format != checkpointFormat)
      node["format"].fail(text("is ", format, " and this runtime reads ", checkpointFormat));
    state.step = node["step"].integer(0, int64_t(1) << 40);
    state.position = node["position"].integer(0, int64_t(1) << 60);
    if (std::string model = node["model"].string(); model != program.weights.digest)
      return plan::Error{text("cannot resume from ", folder->string(), ": it is of the model with digest ", model,
                              ", and the program was compiled from ", program.weights.file, " with digest ",
                              program.weights.digest, "; resume with the program that it was saved by")};
    Optimizer ours(settings);
    if (std::string kind = node["optimizer"].string(); kind != ours.name())
      return plan::Error{text("cannot resume from ", folder->string(), ": its optimizer is ", kind,
                              ", and this run's is ", ours.name(), "; pass the one it was saved with")};
    auto listed = [](const std::vector<std::string> &names) { return names.empty() ? "nothing" : joined(names); };
    std::vector<std::string> kept = node["state"].map([](const JsonNode &name) { return name.string(); });
    std::vector<std::string> wanted;
    for (const char *name : ours.stateNames())
      wanted.push_back(name);
    if (kept != wanted)
      return plan::Error{text("cannot resume from ", folder->string(), ": its optimizer keeps ", listed(kept),
                              ", and this run's keeps ", listed(wanted),
                              "; pass the --momentum that it was saved with")};
    json.at("settings").get_to(state.settings);
    for (const char *name : {modelName, optimizerName}) {
      std::string saved = node["files"][name].string();
      if (plan::Status status = plan::checkRegularFile((*folder / name).string()); !status)
        return plan::Error{text("cannot resume: ", status.error())};
      plan::Result<std::string> present = digestOf(*folder / name);
      if (!present)
        return plan::Error{text("cannot resume: ", present.error())};
      if (*present != saved)
        return plan::Error{text("cannot resume from ", folder->string(), ": ", name,
                                " is damaged or was changed since it was saved; resume from another checkpoint")};
    }
  } catch (const std::exception &error) {
    return plan::Error{text(statePath, " is no sound checkpoint: ", error.what(), "; resume from another one")};
  }
  plan::Result<SafetensorsFile> model = SafetensorsFile::open((*folder / modelName).string());
  if (!model)
    return plan::Error{model.error()};
  plan::Result<SafetensorsFile> optimizer = SafetensorsFile::open((*folder / optimizerName).string());
  if (!optimizer)
    return plan::Error{optimizer.error()};
  return Checkpoint(folder->string(), state, std::move(*model), std::move(*optimizer));
}

/// The tensor of that name; fails where it is missing or of another type or shape.
static plan::Result<Tensor> read(const SafetensorsFile &file, const std::string &name, DType dtype,
                                 const std::vector<int64_t> &shape) {
  auto found = file.tensors().find(name);
  if (found == file.tensors().end())
    return plan::Error{text(file.path(), " has no '", name, "'; resume from another checkpoint")};
  const TensorEntry &entry = found->second;
  if (entry.dtype != dtype || entry.shape != shape)
    return plan::Error{text("'", name, "' in ", file.path(), " is ", info(entry.dtype).name, shapeText(entry.shape),
                            " and the program has ", info(dtype).name, shapeText(shape),
                            "; resume from a checkpoint of this model")};
  Tensor tensor = Tensor::empty(dtype, shape);
  if (plan::Status status = file.mapping()->read(entry.data, tensor.data(), entry.bytes); !status)
    return plan::Error{status.error()};
  return tensor;
}

plan::Status Checkpoint::load(const Program &program, int rank, const Weights &weights, ParameterStore &parameters,
                              Optimizer &optimizer) const {
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const ModelParameter &parameter = program.parameters[i];
    int number = static_cast<int>(i);
    bool used = program.uses(rank, number), owned = program.rankOf(parameter) == rank;
    if (parameter.kind == ModelParameter::Kind::Constant || !(used || owned))
      continue;
    plan::Result<Tensor> value = read(model, parameter.name, parameter.dtype, parameter.shape);
    if (!value)
      return plan::Error{value.error()};
    Tensor &live = parameters.parameter(number);
    if (parameter.updated) {
      assign(live, *value);
    } else {
      // A view of the weight file, or unused. It stays so unless it was trained, or was updated by forward.
      Tensor present = live ? live : weights.load(parameter);
      if (std::memcmp(present.contiguous().data(), value->data(), value->bytes()) != 0)
        live = ownedLike(std::move(*value), present);
    }
    if (!parameter.updated || !owned)
      continue;
    std::vector<Tensor> state = optimizer.state(number, parameters.parameter(number));
    std::vector<std::string> names = stateNames(optimizer, parameter.name);
    for (size_t part = 0; part < names.size(); ++part) {
      bool counter = optimizer.isCounter(part);
      plan::Result<Tensor> saved = read(optimizerState, names[part], counter ? BRAID_F32 : parameter.dtype,
                                        counter ? std::vector<int64_t>() : parameter.shape);
      if (!saved)
        return plan::Error{saved.error()};
      assign(state[part], *saved);
    }
    optimizer.setState(number, std::move(state));
  }
  return {};
}
