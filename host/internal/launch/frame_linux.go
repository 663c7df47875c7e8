package launch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Host and supervisor talk in frames: a length of four bytes, then a list of byte
// strings, each with its own length. Arguments and variables may hold any bytes, so
// JSON would not do, and this costs a fresh process nothing to set up. Descriptors go
// with the first bytes of a frame.
//
//	host → supervisor   "run", call, program, directory, plan, number of arguments, arguments…, environment…
//	                    "stop", call, grace in ns (0: kill at once)
//	supervisor → host   "done", call, errno or 0, other start error, its code, wait status, left over, still there, limit of processes passed or 0, path exposed or ""
const (
	frameRun  = "run"
	frameStop = "stop"
	frameDone = "done"

	// maxFrame is above what the kernel takes as a command line (6 MiB at most).
	maxFrame = 64 << 20
	maxFiles = 253 // SCM_MAX_FD
)

var errFrame = errors.New("malformed frame")

func encodeFrame(fields ...string) []byte {
	size := 4
	for _, f := range fields {
		size += 4 + len(f)
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, size), uint32(size-4))
	for _, f := range fields {
		b = binary.BigEndian.AppendUint32(b, uint32(len(f)))
		b = append(b, f...)
	}
	return b
}

// decodeFrame reads what follows the length of a frame.
func decodeFrame(b []byte) ([]string, error) {
	var fields []string
	for len(b) > 0 {
		if len(b) < 4 {
			return nil, errFrame
		}
		n := binary.BigEndian.Uint32(b)
		if b = b[4:]; uint64(n) > uint64(len(b)) {
			return nil, errFrame
		}
		fields, b = append(fields, string(b[:n])), b[n:]
	}
	return fields, nil
}

// sendFrame writes one frame with files attached to a socket that the poller knows.
func sendFrame(sock *os.File, files []*os.File, fields ...string) error {
	frame := encodeFrame(fields...)
	if len(frame) > maxFrame {
		return unix.E2BIG
	}
	if len(files) > maxFiles {
		return fmt.Errorf("more than %d files to hand down", maxFiles)
	}
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		conn, err := sock.SyscallConn()
		if err != nil {
			return err
		}
		var sent int
		var sendErr error
		err = conn.Write(func(fd uintptr) bool {
			sent, sendErr = unix.SendmsgN(int(fd), frame, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL)
			return sendErr != unix.EAGAIN && sendErr != unix.EINTR
		})
		if err = errors.Join(err, sendErr); err != nil {
			return err
		}
		frame = frame[sent:]
	}
	_, err := sock.Write(frame)
	return err
}

// receiveFrame reads one frame and the descriptors that came with it, from a blocking
// socket. The descriptors are the caller's to close, also with an error.
func receiveFrame(sock int) (fields []string, fds []int, err error) {
	head := make([]byte, 4)
	oob := make([]byte, unix.CmsgSpace(4*maxFiles))
	for got := 0; got < len(head); {
		n, oobn, _, _, err := unix.Recvmsg(sock, head[got:], oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err == nil && n == 0 {
			err = io.EOF
		}
		if err != nil {
			return nil, fds, err
		}
		more, err := rights(oob[:oobn])
		if fds = append(fds, more...); err != nil {
			return nil, fds, err
		}
		got += n
	}
	size := binary.BigEndian.Uint32(head)
	if size > maxFrame {
		return nil, fds, errFrame
	}
	body := make([]byte, size)
	for got := 0; got < len(body); {
		n, err := unix.Read(sock, body[got:])
		if err == unix.EINTR {
			continue
		}
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, fds, err
		}
		got += n
	}
	fields, err = decodeFrame(body)
	return fields, fds, err
}

// rights returns the descriptors in a control message.
func rights(oob []byte) ([]int, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var fds []int
	for i := range msgs {
		more, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			return fds, err
		}
		fds = append(fds, more...)
	}
	return fds, nil
}

// report is the content of a done frame.
type report struct {
	call      string
	errno     unix.Errno // the program could not be started
	problem   string     // the same, where there is no errno
	code      string     // of the problem
	status    unix.WaitStatus
	leftover  int // were still running when the tool had ended, and were killed
	remaining int // could not be ended
	crowd     int // the limit of processes that it passed, or 0
	exposed   string
}

func (r *report) fields() []string {
	return []string{
		frameDone, r.call, strconv.Itoa(int(r.errno)), r.problem, r.code, strconv.FormatUint(uint64(r.status), 10),
		strconv.Itoa(r.leftover), strconv.Itoa(r.remaining), strconv.Itoa(r.crowd), r.exposed,
	}
}

func parseReport(f []string) (*report, error) {
	if len(f) != 10 || f[0] != frameDone {
		return nil, errFrame
	}
	var errs [5]error
	r := &report{call: f[1], problem: f[3], code: f[4], exposed: f[9]}
	errno, err := strconv.Atoi(f[2])
	status, err2 := strconv.ParseUint(f[5], 10, 32)
	r.errno, r.status, errs[0], errs[1] = unix.Errno(errno), unix.WaitStatus(status), err, err2
	r.leftover, errs[2] = strconv.Atoi(f[6])
	r.remaining, errs[3] = strconv.Atoi(f[7])
	r.crowd, errs[4] = strconv.Atoi(f[8])
	return r, errors.Join(errs[:]...)
}
