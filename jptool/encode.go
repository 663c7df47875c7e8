package jptool

import (
	"maps"
	"slices"
	"strconv"
)

// AppendJSON appends the wire form, as encoding/json writes it without HTML escapes. Hosts write it
// for each call, in a process that has only just started: there encoding/json takes longer to learn the
// types than for all else.
func (c *Context) AppendJSON(b []byte) []byte {
	b = AppendJSONString(append(b, `{"root":`...), c.Root)
	b = AppendJSONString(append(b, `,"action":`...), string(c.Action))
	b = c.Access.AppendJSON(append(b, `,"access":`...))
	if c.WorkspaceID != "" {
		b = AppendJSONString(append(b, `,"workspace_id":`...), c.WorkspaceID)
	}
	if c.ConversationID != "" {
		b = AppendJSONString(append(b, `,"conversation_id":`...), c.ConversationID)
	}
	return append(b, '}')
}

// AppendJSON appends the wire form, as that of Context does; null for a nil policy.
func (p *AccessPolicy) AppendJSON(b []byte) []byte {
	if p == nil {
		return append(b, "null"...)
	}
	b = appendList(append(b, `{"fs":`...), p.FS, appendFsRule)
	b = appendList(append(b, `,"net":`...), p.Net, appendNetRule)
	b = appendList(append(b, `,"env":`...), p.Env, func(b []byte, r EnvRule) []byte {
		b = AppendJSONString(append(b, `{"name":`...), r.Name)
		return append(strconv.AppendBool(append(b, `,"read":`...), r.Read), '}')
	})
	b = append(b, `,"commands":`...)
	if p.Commands == nil {
		b = append(b, "null"...)
	} else {
		b = append(b, '{')
		for i, name := range slices.Sorted(maps.Keys(p.Commands)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(AppendJSONString(b, name), ':')
			rule := p.Commands[name]
			b = appendList(append(b, `{"args":`...), rule.Args, func(b []byte, list []string) []byte { return appendList(b, list, AppendJSONString) })
			b = append(appendList(append(b, `,"envs":`...), rule.Envs, AppendJSONString), '}')
		}
		b = append(b, '}')
	}
	if len(p.Pinned) > 0 {
		b = appendList(append(b, `,"pinned":`...), p.Pinned, AppendJSONString)
	}
	if len(p.Staged) > 0 {
		b = appendList(append(b, `,"staged":`...), p.Staged, func(b []byte, s StagedFile) []byte {
			b = AppendJSONString(append(b, `{"path":`...), s.Path)
			return append(strconv.AppendInt(append(b, `,"fd":`...), int64(s.FD), 10), '}')
		})
	}
	return append(b, '}')
}

func appendFsRule(b []byte, r FsRule) []byte {
	b = AppendJSONString(append(b, `{"lexical_path":`...), r.Path)
	b = strconv.AppendBool(append(b, `,"external":`...), r.External)
	b = appendOptional(append(b, `,"approved_target":`...), r.ApprovedTarget, AppendJSONString)
	b = appendOptional(append(b, `,"read":`...), r.Read, strconv.AppendBool)
	b = appendOptional(append(b, `,"write":`...), r.Write, strconv.AppendBool)
	b = appendOptional(append(b, `,"create":`...), r.Create, strconv.AppendBool)
	b = appendOptional(append(b, `,"update":`...), r.Update, strconv.AppendBool)
	b = appendOptional(append(b, `,"delete":`...), r.Delete, strconv.AppendBool)
	return append(appendOptional(append(b, `,"execute":`...), r.Execute, strconv.AppendBool), '}')
}

func appendNetRule(b []byte, r NetRule) []byte {
	b = AppendJSONString(append(b, `{"host":`...), r.Host)
	b = appendOptional(append(b, `,"scheme":`...), r.Scheme, AppendJSONString)
	b = appendOptional(append(b, `,"port":`...), r.Port, func(b []byte, n uint16) []byte { return strconv.AppendUint(b, uint64(n), 10) })
	b = appendOptional(append(b, `,"path_prefix":`...), r.PathPrefix, AppendJSONString)
	return append(strconv.AppendBool(append(b, `,"allow":`...), r.Allow), '}')
}

func appendOptional[T any](b []byte, v *T, add func([]byte, T) []byte) []byte {
	if v == nil {
		return append(b, "null"...)
	}
	return add(b, *v)
}

func appendList[T any](b []byte, list []T, add func([]byte, T) []byte) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = add(b, v)
	}
	return append(b, ']')
}
