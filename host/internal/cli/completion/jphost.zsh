#compdef jphost
# zsh completion of jphost; written by: jphost completion zsh
_jphost() {
  local cur="${words[CURRENT]}" kind program
  local -a lines
  lines=("${(@f)$(jphost complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  kind="${lines[1]}"
  lines=("${(@)lines[2,-1]%%$'\t'*}")
  [[ $cur == *=* ]] && compset -P '*='
  case "$kind" in
  'program '*)
    program="${kind#program }"
    words=("${(@)words[program+1,-1]}")
    ((CURRENT -= program))
    _normal
    ;;
  files) _files ;;
  keys) compadd -S '' -- $lines || _files ;;
  *) compadd -- $lines || _files ;;
  esac
}
if [[ "$funcstack[1]" == _jphost ]]; then
  _jphost "$@"
else
  compdef _jphost jphost
fi
