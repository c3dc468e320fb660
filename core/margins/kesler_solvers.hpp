// The solvers that Franc and Hlavac (2002) name for the Kesler machine: one variable, or one pair, at a time.
//
// The program of margin_problem.hpp with the own score as reference and no cap, in the variables a[i,m] = -b[i,m] >= 0,
// m != y_i, with their eq. 7 as the matrix:
//
//   Q[(i,m),(j,p)] = <e_yi - e_m, e_yj - e_p> (k(x_i, x_j) + b0) + [(i,m) == (j,p)] r_i
//
//   smo        max 1'a - 1/2 a'Qa,  a <= u    the variable whose own step gains most, and that step
//   ksk, mdm   min v'Qv / (1'v)^2,  v >= 0    the point of a convex hull nearest to the origin, r > 0, no upper bound;
//                                             a = v 1'v / v'Qv then solves max 1'a - 1/2 a'Qa
//   ksk        toward the vertex with the smallest Qv: v_t grows, nothing else changes. A vertex that should not be
//              there only fades as the others grow, so the gap falls like 1 / steps
//   mdm        that vertex takes weight from another variable, the one with which the pair's step gains most
//
// They are here to be compared with. 600 rows of 6 features in five classes, C = 1, RBF, processor seconds (AVX-512,
// one thread, busy): smo 0.09 and the engine 0.02; with the squared hinge mdm 0.06, ksk not solved after 1.7 and the
// engine 0.02.
//
// Up to 256 examples, a solved problem is refined to rounding error (ksk by steps of mdm).
#pragma once
#include <memory>
#include <vector>

#include "kernels/row_cache.hpp"
#include "margins/margin_problem.hpp"

namespace polymargin {

struct KeslerProblem {
  enum class Method { smo, ksk, mdm };
  MarginProblem margins;
  Method method = Method::smo;
};

// As margins/solve.hpp; the tolerance of ksk and mdm is the relative duality gap.
template <class T>
Solution solve(const KeslerProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> b, const Settings& settings, Team& team);

}  // namespace polymargin
