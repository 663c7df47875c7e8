// Package show makes text of somebody else (paths, names, messages of tools) safe to print: it
// writes out every character that a terminal would act on, or that people cannot see.
package show
