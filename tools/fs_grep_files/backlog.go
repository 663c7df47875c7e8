package main

import "sync"

// backlog bounds how much the workers find ahead of what is put into the result: a worker waits
// before its next file when there is too much. The one whose job is next never waits, so that there is
// always an end to it.
type backlog struct {
	mu    sync.Mutex
	freed *sync.Cond
	bytes int
	next  *job
}

func newBacklog() *backlog {
	b := &backlog{}
	b.freed = sync.NewCond(&b.mu)
	return b
}

// first says that the result waits for j.
func (b *backlog) first(j *job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = j
	b.freed.Broadcast()
}

// wait is for the worker on j, before it searches a file.
func (b *backlog) wait(j *job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.bytes >= maxHeld && b.next != j {
		b.freed.Wait()
	}
}

// add counts what was found for j.
func (b *backlog) add(j *job, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	j.held += n
	b.bytes += n
}

// taken says that what was found for j is in the result, or dropped.
func (b *backlog) taken(j *job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes -= j.held
	b.freed.Broadcast()
}
