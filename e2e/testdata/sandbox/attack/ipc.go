package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

var _ = add(map[string]attack{
	"sysv-memory":  sysvMemory,
	"sysv-queue":   sysvQueue,
	"posix-queue":  posixQueue,
	"file-setattr": fileSetattr,
	"sendmsg-pair": sendmsgPair,
})

func init() { parts["part-ipc"] = objects }

// message is a struct msgbuf.
type message struct {
	kind int64
	text [64]byte
}

// objects makes and removes what has no path: part-ipc make SECRET | remove MEMORY QUEUE NAME.
func objects(a []string) int {
	if a[0] == "remove" {
		memory, err := strconv.Atoi(a[1])
		queue, err2 := strconv.Atoi(a[2])
		if err != nil || err2 != nil {
			return 1
		}
		_, err = unix.SysvShmCtl(memory, unix.IPC_RMID, nil)
		_, err2 = raw(unix.SYS_MSGCTL, uintptr(queue), unix.IPC_RMID, 0)
		_, err3 := raw(unix.SYS_MQ_UNLINK, text(a[3]))
		if err != nil || err2 != nil || err3 != nil {
			fmt.Fprintln(os.Stderr, err, err2, err3)
			return 1
		}
		return 0
	}
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		return fail(err)
	}
	mem, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return fail(err)
	}
	copy(mem, a[1])
	queue, err := raw(unix.SYS_MSGGET, unix.IPC_PRIVATE, unix.IPC_CREAT|0o600)
	if err != nil {
		return fail(err)
	}
	m := &message{kind: 1}
	copy(m.text[:], a[1])
	if _, err := raw(unix.SYS_MSGSND, queue, at(m), 64, 0); err != nil {
		return fail(err)
	}
	name := "jptools-" + a[1]
	attr := [8]int64{1: 4, 2: 64}
	mq, err := raw(unix.SYS_MQ_OPEN, text(name), unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600, at(&attr))
	if err != nil {
		return fail(err)
	}
	if _, err := raw(unix.SYS_MQ_TIMEDSEND, mq, at(&m.text), 64, 0, 0); err != nil {
		return fail(err)
	}
	line, err := json.Marshal(map[string]string{"memory": strconv.Itoa(id), "queue": strconv.Itoa(int(queue)), "named": name})
	if err != nil {
		return fail(err)
	}
	fmt.Printf("%s\n", line)
	return 0
}

// sysvMemory attaches shared memory of another process.
func sysvMemory(a []string) (string, error) {
	id, err := strconv.Atoi(a[0])
	if err != nil {
		return "", err
	}
	mem, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
	if err != nil {
		return "", err
	}
	return string(mem[:40]), nil
}

// sysvQueue takes a message that was meant for another process.
func sysvQueue(a []string) (string, error) {
	id, err := strconv.Atoi(a[0])
	if err != nil {
		return "", err
	}
	m := &message{}
	n, err := raw(unix.SYS_MSGRCV, uintptr(id), at(m), 64, 0, unix.IPC_NOWAIT)
	return string(m.text[:min(n, 64)]), err
}

func posixQueue(a []string) (string, error) {
	mq, err := raw(unix.SYS_MQ_OPEN, text(a[0]), unix.O_RDONLY|unix.O_NONBLOCK, 0, 0)
	if err != nil {
		return "", err
	}
	buf := &[64]byte{}
	n, err := raw(unix.SYS_MQ_TIMEDRECEIVE, mq, at(buf), 64, 0, 0)
	return string(buf[:min(n, 64)]), err
}

// fileSetattr marks a file as not worth dumping, by name.
func fileSetattr(a []string) (string, error) {
	const sysFileGetattr, sysFileSetattr, nodump = 468, 469, 0x80 // FS_XFLAG_NODUMP
	attr := &[4]uint64{}
	size := unsafe.Sizeof(*attr) - 8
	if _, err := raw(sysFileGetattr, minus100, text(a[0]), at(attr), size, 0); err != nil {
		return "", err
	}
	attr[0] |= nodump
	_, err := raw(sysFileSetattr, minus100, text(a[0]), at(attr), size, 0)
	return "", err
}

// sendmsgPair is pair-sendto with the address in a message.
func sendmsgPair(a []string) (string, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, kinds[a[0]], 0)
	if err != nil {
		return "", err
	}
	return "", unix.Sendmsg(pair[0], []byte("# owned\n"), nil, &unix.SockaddrUnix{Name: a[1]}, 0)
}
