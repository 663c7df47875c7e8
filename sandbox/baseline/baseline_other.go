//go:build !linux

package baseline

import "errors"

type tree struct{}

func (tree) find(string, []string, *Options) (*Baseline, error) { return nil, errors.ErrUnsupported }
