#!/bin/sh
# A shell script: everything with labels belongs to the shop's team.
read -r request
case "$request" in
  '{}') echo '{"name":"owner","version":"v1","requestVersion":["v1"],"responseVersion":["v1"]}' ;;
  *'"labels":{'*) echo '{"version":"v1","patches":[
    {"op":"add","path":"/metadata/labels/example.com~1owner","value":"team-shop"},
    {"op":"add","path":"/metadata/labels/moved-by","value":"owner"}]}' ;;
  *) echo '{"version":"v1"}' ;;
esac
