# find_package(Braid) for plugins and other projects that build against this build folder: Braid_DIR is
# <build>/lib/cmake/Braid. It gives the target BraidCompiler (the dialects, passes and pipelines), and BraidPlan with it.
set(folder ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/cmake/Braid)
target_include_directories(BraidCompiler INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
export(TARGETS BraidCompiler FILE ${folder}/BraidTargets.cmake)
configure_file(${PROJECT_SOURCE_DIR}/cmake/BraidConfig.cmake.in ${folder}/BraidConfig.cmake @ONLY)
