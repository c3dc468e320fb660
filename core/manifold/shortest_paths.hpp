// Lengths of the shortest paths from some nodes of an undirected graph to all, the sources shared out to threads.
#pragma once
#include <cstdint>

#include "base/data.hpp"
#include "base/team.hpp"

namespace polymargin {

// Both directions of every edge are stored. Lengths are >= 0.
struct Graph {
  Span<const Index> indptr;
  Span<const std::int32_t> indices;
  Span<const double> lengths;
  Index size() const { return indptr.size - 1; }
};

// out[s * size + j]: from sources[s] to node j, infinite where there is no path.
void shortest_paths(const Graph& graph, Span<const Index> sources, double* out, Team& team);

}  // namespace polymargin
