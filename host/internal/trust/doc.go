// Package trust finds what the configuration of a repository could widen: the settings, and the
// files that its commands name, that a person must accept before they take effect ([Widening]).
//
// It only finds and describes them. Asking the person, and remembering the answer, is the work of
// package consent.
package trust
