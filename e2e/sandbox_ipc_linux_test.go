package e2e

import (
	"bytes"
	"encoding/json"
)

// ipc are System V and POSIX objects of the same user outside, which have no path.
type ipc struct{ memory, queue, named string }

// ipc has a helper make them, as the user.
func (w *world) ipc() *ipc {
	w.t.Helper()
	r := w.run(attackPath(w.t), "part-ipc", "make", w.secret)
	var ids struct{ Memory, Queue, Named string }
	if r.code != 0 || json.NewDecoder(bytes.NewReader([]byte(r.stdout))).Decode(&ids) != nil {
		w.t.Fatalf("making objects for other processes: %s", r)
	}
	w.t.Cleanup(func() {
		if r := w.run(attackPath(w.t), "part-ipc", "remove", ids.Memory, ids.Queue, ids.Named); r.code != 0 {
			w.t.Errorf("removing them: %s", r)
		}
	})
	return &ipc{ids.Memory, ids.Queue, ids.Named}
}
