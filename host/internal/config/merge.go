package config

import (
	"encoding/json"
	"slices"
)

// merge returns next merged onto prev, either of which may be nil. It changes neither:
// tables and lists are made anew, and what stands in them is shared, so that a value of
// the result is still the one that its layer wrote.
func merge(n *node, prev, next *Value) *Value {
	if next == nil {
		return prev
	}
	if next.Kind == Null {
		return nil
	}
	alt := n.alternative(next.Kind)
	switch alt.kind {
	case nodeTable:
		if prev == nil || prev.Kind != Table || n.whole {
			prev = nil
		}
		return mergeTable(prev, next, "", func(k string, old, now *Value) *Value {
			return merge(alt.field(k).node, old, now)
		})
	case nodeMap:
		return mergeMap(alt, prev, next)
	case nodeRules:
		return mergeRules(prev, next)
	case nodeAdded:
		return mergeAdded(prev, next)
	case nodeFree:
		return mergeFree(prev, next)
	}
	if next.how != nil && prev != nil && prev.Kind == List {
		return concat(next, prev.items, next.items)
	}
	return next
}

// mergeTable merges key by key with join. By the strategy "merge" each key of next is taken
// whole, by "keep" only those that prev does not have. Null takes a key away by any.
func mergeTable(prev, next *Value, strategy string, join func(key string, old, now *Value) *Value) *Value {
	out := newTable(next.Origin)
	if prev != nil {
		out.Origin = prev.Origin
		for _, k := range prev.keys {
			out.set(k, prev.fields[k])
		}
	}
	for _, k := range next.keys {
		old, now := out.fields[k], next.fields[k]
		if strategy == "keep" && old != nil && now.Kind != Null {
			continue
		}
		if strategy == "merge" {
			old = nil
		}
		if v := join(k, old, now); v != nil {
			out.set(k, v)
		} else {
			out.remove(k)
		}
	}
	return out
}

func mergeMap(n *node, prev, next *Value) *Value {
	how := next.how
	if how == nil {
		how = &howto{strategy: "deep_merge"}
	}
	if prev != nil && prev.how != nil && prev.how.discard || how.strategy == "replace" {
		prev = nil
	}
	out := mergeTable(prev, next, how.strategy, func(_ string, old, now *Value) *Value {
		return merge(n.elem, old, now)
	})
	if how.discard {
		out.how = &howto{strategy: how.strategy, discard: true}
	}
	return out
}

// mergeRules merges two lists of rules by the strategy of the later one (docs/config.md,
// "Merging"). Of equal items the last one stays, because among equal rules the last one decides.
func mergeRules(prev, next *Value) *Value {
	how := howto{strategy: "append"}
	if next.how != nil {
		how = *next.how
	}
	how.notes = nil
	lists := [][]*Value{nil, next.items}
	if prev != nil {
		lists[0] = prev.items
	}
	if prev != nil && prev.how != nil {
		if prev.how.discard {
			lists[0] = nil
		}
		if how.dedup == nil {
			how.dedup = prev.how.dedup
		}
	}
	switch how.strategy {
	case "prepend":
		slices.Reverse(lists)
	case "replace":
		lists = lists[1:]
	}
	out := concat(next, lists...)
	if how.dedup != nil && *how.dedup {
		out.items = keepLast(out.items)
	} else {
		how.dedup = nil // switched off for this merge; the result has no opinion
	}
	out.rules, out.how = true, &how
	return out
}

func concat(origin *Value, lists ...[]*Value) *Value {
	return &Value{Kind: List, Origin: origin.Origin, items: slices.Concat(lists...)}
}

// keepFirst drops each item that follows an equal one.
func keepFirst(items []*Value) []*Value {
	seen := make(map[string]bool, len(items))
	return slices.DeleteFunc(slices.Clone(items), func(item *Value) bool {
		id := identity(item)
		known := seen[id]
		seen[id] = true
		return known
	})
}

// keepLast drops each item that is followed by an equal one.
func keepLast(items []*Value) []*Value {
	items = slices.Clone(items)
	slices.Reverse(items)
	items = keepFirst(items)
	slices.Reverse(items)
	return items
}

// identity is the same for equal rules; it keeps long lists from costing their square.
func identity(v *Value) string {
	b, err := json.Marshal(v.Any()) // sorts keys
	if err != nil {
		return v.String()
	}
	return string(b)
}

// mergeAdded only adds, and only what is new.
func mergeAdded(prev, next *Value) *Value {
	if prev == nil {
		prev = &Value{}
	}
	out := concat(next, prev.items, next.items)
	out.items = keepFirst(out.items)
	return out
}

// annotatedFree takes {value, strategy} apart; anything else is the value itself.
func annotatedFree(v *Value) (value *Value, strategy string) {
	if v.how != nil {
		return v, v.how.strategy
	}
	if v.Kind == Table && len(v.keys) == 2 && isAnnotatedMap(v) {
		s := v.fields["strategy"].text()
		if slices.Contains(vecStrategies, s) || slices.Contains(mapStrategies, s) {
			return v.fields["value"], s
		}
	}
	return v, ""
}

// mergeFree merges JSON values: objects deeply, all else by replacing, unless next is
// written {value, strategy}. What only looks like that form is data.
func mergeFree(prev, next *Value) *Value {
	if next.Kind == Null {
		return nil
	}
	value, strategy := annotatedFree(next)
	switch {
	case value.Kind == Null:
		return nil
	case strategy == "keep" && prev != nil && !(prev.Kind == Table && value.Kind == Table):
		return prev
	case prev != nil && prev.Kind == List && value.Kind == List && strategy == "append":
		return concat(value, prev.items, value.items)
	case prev != nil && prev.Kind == List && value.Kind == List && strategy == "prepend":
		return concat(value, value.items, prev.items)
	case value.Kind != Table:
		return value
	case prev == nil || prev.Kind != Table || strategy == "replace" || strategy == "append" || strategy == "prepend":
		prev = nil
	}
	return mergeTable(prev, value, strategy, func(_ string, old, now *Value) *Value { return mergeFree(old, now) })
}
