// What a machine with margins asks of the scores f of a row of class y: the slacks
//
//   q_c = 1 + f_c - ref  for c != y,      q_y = own_target - (f_y - ref)
//
// where ref is the own score, the mean of all, or 0. Its loss is sum_c (q_c)_+, capped max_c (q_c)_+, or square sum_c (q_c)_+^2.
#pragma once
#include "base/data.hpp"

namespace polymargin {

enum class Reference { own, mean, none };

struct MarginLoss {
  Index classes = 0;
  Reference reference = Reference::own;
  double own_target = 0;  // 0: no margin for the own class
  bool others = true;     // margins for the other classes
  bool capped = false;    // the loss is the largest slack, not the sum of all
  double square = 0;      // 0: the hinge
};

}  // namespace polymargin
