//go:build !linux

package baseline

func find(string, []string, Options) (*Baseline, error) { return nil, ErrUnsupported }
