package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/jptools/jptools/host/internal/ask"
	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/jptool"
)

// maxRequest bounds what is read from standard input; the wire has the same limit.
const maxRequest = 64 << 20

// arguments makes the JSON object of a call from the words of the command line: KEY=TEXT
// and KEY:=JSON, a JSON object, or `-`. A key that is given several times is a list. Which
// texts stand for numbers and so on is for the tool's parameters to say.
func arguments(words []string, tool *config.Tool, stdin io.Reader) ([]byte, error) {
	merged := map[string]json.RawMessage{}
	var order []string
	counts := map[string]int{}
	add := func(key string, value json.RawMessage) error {
		switch counts[key]++; counts[key] {
		case 1:
			order = append(order, key)
			merged[key] = value
		case 2:
			merged[key] = append(append(append(json.RawMessage{'['}, merged[key]...), ','), append(value, ']')...)
		default:
			merged[key] = append(append(merged[key][:len(merged[key])-1], ','), append(value, ']')...)
		}
		return nil
	}
	for i, word := range words {
		if object, ok, err := whole(word, stdin); err != nil {
			return nil, err
		} else if ok {
			if len(words) > 1 {
				return nil, exit.Errorf(exit.Usage, "%s and other arguments do not go together\ngive one JSON object, or only KEY=VALUE", ask.Visible(words[i]))
			}
			return object, nil
		}
		key, value, ok := strings.Cut(word, "=")
		if !ok || key == "" || key == ":" {
			return nil, exit.Errorf(exit.Usage, "the argument %s is not KEY=VALUE\n%s", ask.Visible(word), example(tool, word))
		}
		raw := json.RawMessage(jptool.AppendJSONString(nil, value))
		if name, isJSON := strings.CutSuffix(key, ":"); isJSON {
			if !json.Valid([]byte(value)) {
				return nil, exit.Errorf(exit.Usage, "the value of %s is not JSON: %s\nwrite %s=TEXT for a text", ask.Visible(key), ask.Visible(value), name)
			}
			key, raw = name, json.RawMessage(value)
		}
		if err := add(key, raw); err != nil {
			return nil, err
		}
	}
	b := []byte{'{'}
	for i, key := range order {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(jptool.AppendJSONString(b, key), ':'), merged[key]...)
	}
	return append(b, '}'), nil
}

// whole reads a word that stands for the whole object.
func whole(word string, stdin io.Reader) (json.RawMessage, bool, error) {
	if word != "-" {
		return json.RawMessage(word), strings.HasPrefix(word, "{"), nil
	}
	if f, ok := stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return nil, false, exit.Errorf(exit.Usage, "- reads the arguments from standard input, which is a terminal\npipe one JSON object into the command")
	}
	data, err := io.ReadAll(io.LimitReader(stdin, maxRequest+1))
	if err != nil {
		return nil, false, exit.Errorf(exit.Usage, "reading the arguments from standard input: %w", err)
	}
	if len(data) > maxRequest {
		return nil, false, exit.Errorf(exit.Usage, "the arguments on standard input are larger than 64 MiB")
	}
	return data, true, nil
}

// example shows how the word may have been meant.
func example(tool *config.Tool, word string) string {
	for _, p := range tool.Parameters {
		if p.Required && slices.Contains(p.Types, "string") {
			return fmt.Sprintf("did you mean %s?", ask.Word(p.Name+"="+word))
		}
	}
	return "see: jphost tools " + ask.Word(tool.Name)
}
