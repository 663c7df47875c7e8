package observe

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jptools/jptools/sandbox/fit"
)

// Link is what the process that makes calls has of its observer.
type Link struct{ sock *os.File }

// ErrGone says that the observer ended, or does not answer sensibly: what was refused is not known.
var ErrGone = errors.New("the observer of refused calls has ended, so what was refused is not known")

// Begin tells the observer the plan of the next start. The start gets [Link.File] as the last of
// its extra files, and a plan with Observe set.
func (l *Link) Begin(plan *fit.Plan) error {
	data, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	head := binary.BigEndian.AppendUint32([]byte{sayPlan}, uint32(len(data)))
	if _, err := l.sock.Write(append(head, data...)); err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return nil
}

// File is where the program's descriptor goes.
func (l *Link) File() *os.File { return l.sock }

// End returns what was refused since Begin. All processes of the call have to be gone.
func (l *Link) End() (*Seen, error) {
	if _, err := l.sock.Write([]byte{sayResults}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	data, err := readSized(l.sock, maxPlan)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	seen := &Seen{}
	if err := json.Unmarshal(data, seen); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	return seen, nil
}

// The messages to the observer: a byte that says which one it is, and for plan a length of four
// bytes and that much JSON. The program's descriptor comes with its own. The answer to
// sayResults is a length and JSON too. One start follows the other, so they never mix.
const (
	sayPlan     = 'P'
	sayListener = 'L'
	sayResults  = 'R'
)

// maxPlan is far above any plan.
const maxPlan = 64 << 20

// Listener is the message with which a program sends its descriptor.
func Listener() []byte { return []byte{sayListener} }

// readSized reads a length and that much.
func readSized(r io.Reader, most int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if uint64(n) > uint64(most) {
		return nil, errors.New("a message is too long")
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// observedName is argv[0] of a jphost that is observed, and linkFD its end of the socket.
const (
	observedName = "jphost-observed"
	linkFD       = 3
)

type linkKey struct{}

// Inherit returns ctx with the Link of a process that [Under] started, and any other as it is.
// args is the whole command line.
func Inherit(ctx context.Context, args []string) context.Context {
	if len(args) > 0 && args[0] == observedName {
		if sock := inherited(); sock != nil {
			return context.WithValue(ctx, linkKey{}, &Link{sock})
		}
	}
	return ctx
}

// From is the Link of this process, or nil if nobody observes its calls.
func From(ctx context.Context) *Link {
	l, _ := ctx.Value(linkKey{}).(*Link)
	return l
}
