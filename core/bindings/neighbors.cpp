// Graphs of nearest rows and their shortest paths.
#include "manifold/neighbors.hpp"

#include <cmath>
#include <string>

#include "arguments.hpp"
#include "manifold/shortest_paths.hpp"

namespace polymargin {
namespace {

nb::tuple nearest(nb::object X, Vector<Index> order, Vector<Index> label, Vector<Index> group, Vector<Index> queries,
                  Index k, double radius, bool supervised, double gamma, double alpha, bool inside, Index classes,
                  Vector<double> scale, nb::object tell, const std::string& dtype, int n_jobs) {
  const HeldData x = data_of(X, "X");
  NeighborQuery q;
  q.X = x.data;
  q.order = span(order), q.label = span(label), q.group = span(group), q.queries = span(queries);
  q.k = k, q.radius = radius;
  q.D.supervised = supervised, q.D.gamma = gamma, q.D.alpha = alpha, q.D.inside = inside;
  q.D.classes = classes, q.D.scale = span(scale);
  check_indices(q.order, x.data.n, "order");
  check_indices(q.queries, x.data.n, "queries");
  if (q.order.size != x.data.n) refuse("order needs one entry per row");
  if (q.label.size != x.data.n) refuse("label needs one entry per row");
  check_indices(q.label, classes, "label");
  if (q.group.size && q.group.size != x.data.n) refuse("group needs one entry per row, or none");
  if (q.D.scale.size && !is_product(q.D.scale.size, classes, classes))
    refuse("scale needs classes x classes entries, or none");
  check_numbers(q.D.scale, 0, kLargest, "scale");
  if (!(gamma > 0) || !std::isfinite(gamma) || !std::isfinite(alpha)) refuse("gamma > 0 and alpha must be finite");
  checked(radius, 0, kInfinite, "radius");
  if (k < 0) refuse("k must be at least 0");
  const auto search = is_double(dtype) ? neighbors<double> : neighbors<float>;
  Neighbors found = without_gil([&] {
    Team team(n_jobs);
    return search(q, team, [&](double share) {
      const nb::gil_scoped_acquire gil;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!tell.is_none()) tell(share);
    });
  });
  return nb::make_tuple(as_vector(std::move(found.indptr)), as_vector(std::move(found.indices)),
                        as_vector(std::move(found.D)), as_vector(std::move(found.other)),
                        as_vector(std::move(found.other_D)));
}

Array paths(Vector<Index> indptr, Vector<std::int32_t> indices, Vector<double> lengths, Vector<Index> sources,
            int n_jobs) {
  Graph graph{span(indptr), span(indices), span(lengths)};
  if (graph.indices.size != graph.lengths.size) refuse("a graph needs a length per edge");
  check_offsets(graph.indptr, graph.indices.size, "indptr", "edges");
  for (std::int32_t j : graph.indices)
    if (j < 0 || j >= graph.size()) refuse("indices must be nodes of the graph");
  check_numbers(graph.lengths, 0, kInfinite, "lengths");
  check_indices(span(sources), graph.size(), "sources");
  auto out = empty<double>(sources.shape(0), graph.size());
  without_gil([&] {
    Team team(n_jobs);
    shortest_paths(graph, span(sources), out.data(), team);
  });
  return nb::cast(out);
}

}  // namespace

void bind_neighbors(nb::module_& m) {
  using namespace nb::literals;
  m.def("nearest", &nearest, "X"_a, "order"_a, "label"_a, "group"_a, "queries"_a, "k"_a, "radius"_a, "supervised"_a,
        "gamma"_a, "alpha"_a, "inside"_a, "classes"_a, "scale"_a, "tell"_a = nb::none(), "dtype"_a = "float64",
        "n_jobs"_a = 1,
        "The k nearest rows of each query, or all within the radius, and the nearest one of another class: (indptr, "
        "indices, dissimilarities, other, its dissimilarity). tell(share done) is called from time to time.");
  m.def("shortest_paths", &paths, "indptr"_a, "indices"_a, "lengths"_a, "sources"_a, "n_jobs"_a = 1,
        "Lengths of the shortest paths from each source, shape (len(sources), n_nodes).");
}

}  // namespace polymargin
