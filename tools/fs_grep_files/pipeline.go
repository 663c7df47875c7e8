package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fs_grep_files/search"
	"github.com/jptools/jptools/tools/fskit/walk"
)

const (
	// jobFiles is how many files of a directory one worker takes at a time.
	jobFiles = 64
	// inFlight bounds the jobs between the walk and the result, and with them the
	// directories held open and the lines held back for order.
	inFlight = 128
	// maxWhole bounds the workers that hold a whole file each, of up to 64 MiB.
	maxWhole = 4
	// maxHeld bounds the bytes that were found and wait for what comes before them.
	maxHeld = 4 * maxText
)

// job is a run of files and what was found in them.
type job struct {
	batch walk.Batch
	from  int
	to    int
	found []found // the files with something to tell, in order
	// What is in them comes before what is found next in this job: matching lines, and the memory
	// that they take, in bytes.
	lines int64
	held  int
	tally tally
	done  chan struct{}
}

// search walks, searches and collects: the walk makes jobs in order, workers take them,
// and the results are put together in the same order. All three go on at once.
func (g *grep) search(ctx context.Context, planned *walk.Planned) (jptool.Outcome, error) {
	g.budget.Store(int64(g.max))
	g.call.Progress.Of("files searched")
	back := newBacklog()
	jobs := make(chan *job, inFlight)
	order := make(chan *job, inFlight)
	var workers sync.WaitGroup
	many := runtime.GOMAXPROCS(0)
	if g.args.Multiline {
		many = min(many, maxWhole)
	}
	for range many {
		workers.Go(func() {
			w := &worker{ctx: ctx, g: g, back: back, file: reader{ctx: ctx}}
			for j := range jobs {
				w.run(j)
			}
		})
	}
	r := &result{g: g, max: int64(g.max), data: data{Matches: []match{}, Files: []fileCount{}}}
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		for j := range order {
			back.first(j)
			<-j.done
			r.take(j)
			back.taken(j)
		}
	}()
	walked, err := planned.Walk(ctx, func(batch *walk.Batch) error {
		for from := 0; from < len(batch.Paths); from += jobFiles {
			j := &job{batch: *batch, from: from, to: min(from+jobFiles, len(batch.Paths)), done: make(chan struct{})}
			batch.Hold()
			order <- j
			jobs <- j
		}
		return nil
	})
	close(jobs)
	close(order)
	workers.Wait()
	<-collected
	if err != nil {
		return jptool.Outcome{}, err
	}
	if r.tally.unsearched > 0 && walked.Ended == nil {
		walked.Ended = ctx.Err()
	}
	return r.outcome(walked), nil
}

// worker searches files with buffers of its own.
type worker struct {
	ctx      context.Context
	g        *grep
	back     *backlog
	searcher search.Searcher
	file     reader
	sink     sink
}

// reader ends with the context, also in the middle of a file.
type reader struct {
	walk.File
	ctx context.Context
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.File.Read(p)
}

func (w *worker) run(j *job) {
	defer close(j.done)
	defer j.batch.Release()
	for i := j.from; i < j.to; i++ {
		if w.ctx.Err() != nil {
			j.tally.unsearched += int64(j.to - i)
			return
		}
		w.back.wait(j)
		w.guarded(j, i)
	}
	w.g.call.Progress.Add(j.to - j.from)
}

// guarded keeps a fault in the search of one file from ending the whole call.
func (w *worker) guarded(j *job, i int) {
	defer func() {
		if fault := recover(); fault != nil {
			fmt.Fprintf(w.g.call.Stderr, "internal error searching %s: %v\n%s", jptool.Visible(j.batch.Paths[i]), fault, debug.Stack())
			w.searcher = search.Searcher{}
			j.tally.odd[unreadable].add(j.batch.Paths[i])
		}
	}()
	w.one(j, i)
}

// one searches a file. Nothing about it can fail the call.
func (w *worker) one(j *job, i int) {
	path := j.batch.Paths[i]
	w.begin(j, path)
	result, err := w.read(&j.batch, i)
	if err == nil && result.Binary && j.batch.Named {
		// A caller that names a binary file learns at least whether it matches.
		w.begin(j, path)
		w.searcher.Text, w.searcher.Mode = true, search.Exists
		result, err = w.read(&j.batch, i)
		if err == nil {
			note := jptool.Quote(path) + " is a binary file; it matches"
			if result.Matches == 0 {
				note = jptool.Quote(path) + " is a binary file; it does not match"
			}
			j.tally.searched++
			j.tally.namedBinary = append(j.tally.namedBinary, note)
			return
		}
	}
	switch {
	case err != nil && w.ctx.Err() != nil:
		j.tally.unsearched++ // but for what was found until then
	case errors.Is(err, search.ErrTooLarge):
		j.tally.odd[tooLarge].add(path)
		return
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		j.tally.odd[unreadable].add(path)
	case err != nil:
		return // gone since it was listed
	case result.Binary:
		j.tally.binary++
		return
	default:
		j.tally.searched++
	}
	if result.NUL >= 0 && !result.Binary {
		j.tally.odd[cutAtNUL].add(path)
	}
	if result.CutLines > 0 {
		j.tally.odd[longLines].add(path)
	}
	if result.Matches > 0 {
		f := w.sink.take(path, result.Matches)
		j.found = append(j.found, f)
		j.lines += int64(len(f.ends))
		w.back.add(j, f.size())
	}
}

// begin prepares for a file: what of it is to be reported depends on what is still to
// be shown.
func (w *worker) begin(j *job, path string) {
	left := w.g.budget.Load() - j.lines
	if j.held >= maxText {
		left = 0 // this job alone has more than is ever shown
	}
	s := &w.searcher
	s.Text, s.MaxReported = false, left
	switch {
	case w.g.args.Output == "files":
		s.Mode = search.Exists
	case w.g.args.Output == "count" || left <= 0:
		s.Mode = search.Count
	default:
		s.Mode, s.Before, s.After = search.Lines, w.g.context, w.g.context
	}
	w.sink.begin(path, w.g.context)
}

func (w *worker) read(b *walk.Batch, i int) (search.Result, error) {
	if err := b.Open(i, &w.file.File); err != nil {
		return search.Result{NUL: -1}, err
	}
	defer w.file.Close()
	return w.searcher.Search(&w.file, w.g.matcher, &w.sink)
}

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
