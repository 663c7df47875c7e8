# fish completion of jphost; written by: jphost completion fish
function __jphost_complete
  set -l before (commandline -opc)
  set -l cur (commandline -ct)
  set -l lines (jphost complete -- $before[2..-1] "$cur" 2>/dev/null)
  set -l flag (string replace -rf '=.*' '=' -- $cur)
  switch "$lines[1]"
    case 'program *'
      set -l program (math (string replace 'program ' '' -- $lines[1]) + 1)
      set -l line (string escape -- $before[$program..-1]) $cur
      complete -C "$line"
    case files
      for path in (__fish_complete_path (string replace -r '^[^=]*=' '' -- $cur))
        echo "$flag$path"
      end
    case '*'
      for line in $lines[2..-1]
        echo "$flag$line"
      end
  end
end
complete -c jphost -f -a '(__jphost_complete)'
