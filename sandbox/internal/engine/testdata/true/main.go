// Command true does nothing: it is a static program to be started.
package main

func main() {}
