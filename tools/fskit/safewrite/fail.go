package safewrite

import (
	"errors"
	"fmt"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// fail is t.Fail that leaves errors alone which say all themselves.
func fail(t *jptool.Target, err error) error {
	var own *jptool.Error
	var denied *jptool.DeniedError
	if errors.As(err, &own) || errors.As(err, &denied) {
		return err
	}
	return t.Fail(err)
}

// failed is an error on t with a remark on what was left behind.
func failed(t *jptool.Target, err error, format string, args ...any) error {
	remark := fmt.Sprintf(format, args...)
	var own *jptool.Error
	if errors.As(err, &own) {
		return jptool.Errorf(own.Code, "%w; %s", err, remark)
	}
	return &jptool.PathError{Path: t.Path(), Err: fmt.Errorf("%w; %s", wspath.Bare(err), remark)}
}

func bareOrNil(err error) error {
	if err == nil {
		return nil
	}
	return wspath.Bare(err)
}
