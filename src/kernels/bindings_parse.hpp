// What bindings.cpp needs to know of the parsers.
#pragma once
#include <nanobind/nanobind.h>

void bind_parsers(nanobind::module_& m);
