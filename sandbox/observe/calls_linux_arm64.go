package observe

// alwaysHere and privateHere are calls that other architectures do not have.
var alwaysHere, privateHere []numbered
