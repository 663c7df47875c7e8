# bash completion of jphost; written by: jphost completion bash
_jphost() {
  local cur="${COMP_WORDS[COMP_CWORD]}" kind='' word rest
  COMPREPLY=()
  [[ $cur == = ]] && cur='' # bash takes --flag=value for three words
  {
    read -r kind
    while IFS=$'\t' read -r word rest; do
      [[ $word == "$cur"* ]] && COMPREPLY+=("$word")
    done
  } < <(jphost complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  case "$kind" in
  'program '*)
    local program="${kind#program }"
    if declare -F _command_offset >/dev/null; then
      _command_offset "$program"
    elif ((COMP_CWORD == program)); then
      while read -r word; do COMPREPLY+=("$word"); done < <(compgen -c -- "$cur")
    else
      compopt -o default 2>/dev/null
    fi
    ;;
  keys) compopt -o nospace 2>/dev/null ;;
  files) compopt -o default 2>/dev/null ;;
  esac
}
complete -F _jphost jphost
