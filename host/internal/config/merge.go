package config

import (
	"cmp"
	"slices"

	"github.com/jptools/jptools/host/internal/settings"
)

// merge returns next merged onto prev, either of which may be nil. It changes neither:
// tables and lists are made anew, and what stands in them is shared, so that a value of
// the result is still the one that its layer wrote.
func merge(n *node, prev, next *settings.Value) *settings.Value {
	if next == nil {
		return prev
	}
	if next.Kind == settings.Null {
		return nil
	}
	alt := n.alternative(next.Kind)
	switch alt.kind {
	case nodeTable:
		if prev == nil || prev.Kind != settings.Table || n.whole {
			prev = nil
		}
		return mergeTable(prev, next, "", func(k string, old, now *settings.Value) *settings.Value {
			return merge(alt.field(k).node, old, now)
		})
	case nodeMap:
		return mergeMap(alt, prev, next)
	case nodeRules:
		return mergeRules(prev, next)
	case nodeAdded: // only adds, and only what is new
		out := concat(next, cmp.Or(prev, &settings.Value{}).Items, next.Items)
		out.Items = keepFirst(out.Items)
		return out
	case nodeFree:
		return mergeFree(prev, next)
	}
	if next.Merge != nil && prev != nil && prev.Kind == settings.List {
		return concat(next, prev.Items, next.Items)
	}
	return next
}

// mergeTable merges key by key with join. By the strategy "merge" each key of next is taken
// whole, by "keep" only those that prev does not have. Null takes a key away by any.
func mergeTable(prev, next *settings.Value, strategy string, join func(key string, old, now *settings.Value) *settings.Value) *settings.Value {
	out := settings.NewTable(next.Origin)
	if prev != nil {
		out.Origin = prev.Origin
		for _, k := range prev.Keys {
			out.Set(k, prev.Fields[k])
		}
	}
	for _, k := range next.Keys {
		old, now := out.Fields[k], next.Fields[k]
		if strategy == "keep" && old != nil && now.Kind != settings.Null {
			continue
		}
		if strategy == "merge" {
			old = nil
		}
		if v := join(k, old, now); v != nil {
			out.Set(k, v)
		} else {
			out.Remove(k)
		}
	}
	return out
}

func mergeMap(n *node, prev, next *settings.Value) *settings.Value {
	how := cmp.Or(next.Merge, &settings.Merge{Strategy: "deep_merge"})
	if prev != nil && prev.Merge != nil && prev.Merge.Discard || how.Strategy == "replace" {
		prev = nil
	}
	out := mergeTable(prev, next, how.Strategy, func(_ string, old, now *settings.Value) *settings.Value {
		return merge(n.elem, old, now)
	})
	if how.Discard {
		out.Merge = &settings.Merge{Strategy: how.Strategy, Discard: true}
	}
	return out
}

// mergeRules merges two lists of rules by the strategy of the later one (docs/config.md,
// "Merging"). Of equal items the last one stays, because among equal rules the last one decides.
func mergeRules(prev, next *settings.Value) *settings.Value {
	how := *cmp.Or(next.Merge, &settings.Merge{Strategy: "append"})
	how.Notes = nil
	prev = cmp.Or(prev, &settings.Value{})
	was := cmp.Or(prev.Merge, &settings.Merge{})
	how.Dedup = cmp.Or(how.Dedup, was.Dedup)
	lists := [][]*settings.Value{prev.Items, next.Items}
	if was.Discard {
		lists[0] = nil
	}
	switch how.Strategy {
	case "prepend":
		slices.Reverse(lists)
	case "replace":
		lists = lists[1:]
	}
	out := concat(next, lists...)
	if how.Dedup != nil && *how.Dedup {
		out.Items = keepLast(out.Items)
	} else {
		how.Dedup = nil // switched off for this merge; the result has no opinion
	}
	out.Rules, out.Merge = true, &how
	return out
}

func concat(origin *settings.Value, lists ...[]*settings.Value) *settings.Value {
	return &settings.Value{Kind: settings.List, Origin: origin.Origin, Items: slices.Concat(lists...)}
}

// keepFirst drops each item that follows an equal one.
func keepFirst(items []*settings.Value) []*settings.Value {
	seen := make(map[string]bool, len(items))
	return slices.DeleteFunc(slices.Clone(items), func(item *settings.Value) bool {
		id := item.JSON() // a comparison with each item before would cost the square
		known := seen[id]
		seen[id] = true
		return known
	})
}

// keepLast drops each item that is followed by an equal one.
func keepLast(items []*settings.Value) []*settings.Value {
	items = slices.Clone(items)
	slices.Reverse(items)
	items = keepFirst(items)
	slices.Reverse(items)
	return items
}

// annotatedFree takes {value, strategy} apart; anything else is the value itself.
func annotatedFree(v *settings.Value) (value *settings.Value, strategy string) {
	if v.Merge != nil {
		return v, v.Merge.Strategy
	}
	if v.Kind == settings.Table && len(v.Keys) == 2 && isAnnotatedMap(v) {
		s := v.Fields["strategy"].Text()
		if slices.Contains(vecStrategies, s) || slices.Contains(mapStrategies, s) {
			return v.Fields["value"], s
		}
	}
	return v, ""
}

// mergeFree merges JSON values: objects deeply, all else by replacing, unless next is
// written {value, strategy}. What only looks like that form is data.
func mergeFree(prev, next *settings.Value) *settings.Value {
	if next.Kind == settings.Null {
		return nil
	}
	value, strategy := annotatedFree(next)
	switch {
	case value.Kind == settings.Null:
		return nil
	case strategy == "keep" && prev != nil && !(prev.Kind == settings.Table && value.Kind == settings.Table):
		return prev
	case prev != nil && prev.Kind == settings.List && value.Kind == settings.List && strategy == "append":
		return concat(value, prev.Items, value.Items)
	case prev != nil && prev.Kind == settings.List && value.Kind == settings.List && strategy == "prepend":
		return concat(value, value.Items, prev.Items)
	case value.Kind != settings.Table:
		return value
	case prev == nil || prev.Kind != settings.Table || strategy == "replace" || strategy == "append" || strategy == "prepend":
		prev = nil
	}
	return mergeTable(prev, value, strategy, func(_ string, old, now *settings.Value) *settings.Value { return mergeFree(old, now) })
}
