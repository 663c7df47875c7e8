// Package peerbench measures the tools against other programs that do the same, side by
// side in one run: it makes the trees to work on, runs the commands in turns and prints
// medians and ratios. Only benchmarks use it.
package peerbench
