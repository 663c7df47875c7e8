package grants

import (
	"strconv"
	"strings"
	"time"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/sandbox/fit"
)

// parseLimits reads KEY=VALUE with the values of the configuration's `limits`.
func parseLimits(list []string) (l fit.Limits, err error) {
	for _, s := range list {
		key, value, _ := strings.Cut(s, "=")
		if key == "time" {
			if l.Time, err = parseTime(s, value); err != nil {
				return l, err
			}
			continue
		}
		to, ok := map[string]*int64{"memory": &l.Memory, "processes": &l.Processes, "cpu_seconds": &l.CPUSeconds, "file_size": &l.FileSize}[key]
		if !ok {
			return l, exit.Errorf(exit.Usage, "--limit %s: there is no limit %s\nknown are time, memory, processes, cpu_seconds and file_size", show.Visible(s), show.Visible(key))
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if ok = err == nil; !ok && (key == "memory" || key == "file_size") {
			n, ok = config.ParseSize(value)
		}
		if !ok || n <= 0 {
			return l, exit.Errorf(exit.Usage, "--limit %s: %s is no amount\nwrite a number, for bytes also a size such as 512MiB", show.Visible(s), show.Visible(value))
		}
		*to = n
	}
	return l, nil
}

// parseTime reads seconds, or a duration.
func parseTime(written, value string) (time.Duration, error) {
	limit, err := time.ParseDuration(value)
	if n, wrong := strconv.ParseInt(value, 10, 32); wrong == nil {
		limit, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || limit <= 0 {
		return 0, exit.Errorf(exit.Usage, "--limit %s: %s is no time\nwrite seconds, or a duration such as 90s, 10m or 1h30m", show.Visible(written), show.Visible(value))
	}
	return limit, nil
}
