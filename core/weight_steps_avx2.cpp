// The passes over weights with 256-bit vectors; compiled with -mavx2 -mfma.
#if defined(__x86_64__)
#define POLYMARGIN_ISA avx2
#include "weight_steps.inl"
#endif
