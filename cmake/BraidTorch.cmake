# LibTorch from the PyTorch wheel (CPU part only): BraidTorch is an interface target with precise headers and
# libraries, instead of the wheel's own TorchConfig, which asks for a CUDA toolkit.
set(BRAID_PYTHON "" CACHE FILEPATH "Python whose site-packages hold torch; default: build/venv, then python3")
if(NOT BRAID_PYTHON)
  find_program(BRAID_PYTHON_FOUND NAMES python3 HINTS ${PROJECT_SOURCE_DIR}/build/venv/bin NO_DEFAULT_PATH)
  find_program(BRAID_PYTHON_FOUND NAMES python3)
  set(BRAID_PYTHON ${BRAID_PYTHON_FOUND})
endif()
if(NOT BRAID_TORCH_ROOT)
  execute_process(
    COMMAND ${BRAID_PYTHON} -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE torch_root OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    message(FATAL_ERROR "${BRAID_PYTHON} has no torch. Run ./run setup, or pass -DBRAID_PYTHON= or -DBRAID_TORCH_ROOT=.../torch.")
  endif()
  set(BRAID_TORCH_ROOT ${torch_root} CACHE PATH "The torch folder of a PyTorch wheel")
endif()
get_filename_component(site ${BRAID_TORCH_ROOT} DIRECTORY)
add_library(BraidTorch INTERFACE)
target_include_directories(BraidTorch SYSTEM INTERFACE ${BRAID_TORCH_ROOT}/include)
# GCC 12 takes atomics that are inlined from these headers for overflows, and a system header does not silence it.
target_compile_options(BraidTorch INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
target_link_libraries(BraidTorch INTERFACE ${BRAID_TORCH_ROOT}/lib/libtorch_cpu.so ${BRAID_TORCH_ROOT}/lib/libc10.so)
set(BRAID_TORCH_RPATH ${BRAID_TORCH_ROOT}/lib ${site}/nvidia/cu13/lib ${site}/nvidia/nccl/lib)
list(APPEND CMAKE_BUILD_RPATH ${BRAID_TORCH_RPATH})
