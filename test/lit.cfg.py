"""lit configuration; test/CMakeLists.txt configures lit.site.cfg.py beside the build's tests, which loads this file."""

import os
from pathlib import Path

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "braid"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Fuzz", "Zoo", "lib", "plugin-pass"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.braid_build_root, "test")

llvm_config.with_environment("OMP_NUM_THREADS", "1")
llvm_config.with_system_environment(["ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "HOME", "TMPDIR"])

tools = Path(config.braid_tools_dir)
substitutions = {
    "%python": config.python,
    "%cmake": config.cmake,
    "%braid_build": config.braid_build_root,
    "%braid_lib": config.braid_lib_dir,
    "%shlibext": config.shared_library_suffix,
    "%llvm_tools": config.llvm_tools_dir,
    "%docs": os.path.join(config.test_source_root, "..", "docs"),
    "%zoo": os.path.join(config.test_source_root, "Zoo"),
}
config.substitutions += list(substitutions.items())
llvm_config.add_tool_substitutions([ToolSubst(t, unresolved="fatal") for t in ("FileCheck", "not", "count", "split-file")], config.llvm_tools_dir)
ours = ["braid-opt", "braid-import", "braidc", "braid-sim", "braid-reduce", "braid-lsp-server"]
llvm_config.add_tool_substitutions([ToolSubst(t, unresolved="ignore") for t in ours], config.braid_tools_dir)

# A test says `REQUIRES: braidc` for what it runs: a build without LibTorch or without MLIR skips what it cannot.
config.available_features |= {tool for tool in ours if (tools / tool).exists()}
if config.have_torch:
    config.available_features.add("torch")
if config.have_gloo:
    config.available_features.add("gloo")
if config.have_compiler:
    config.available_features.add("compiler")
if config.sanitize:
    config.available_features.add("sanitizer")
