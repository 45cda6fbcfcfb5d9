// A transform plugin in Go, as Crane's are: one request a process, or with the argument "stream" a line each.
package main

import (
	"bufio"
	"encoding/json"
	"os"
)

const metadata = `{"name":"go","version":"v1","requestVersion":["v1"],"responseVersion":["v1"],"modes":["stream"]}`

func answer(line []byte) string {
	request := map[string]interface{}{}
	if err := json.Unmarshal(line, &request); err != nil {
		return `{"error":"` + err.Error() + `"}`
	}
	if len(request) == 0 {
		return metadata
	}
	number, _ := json.Marshal(request["requestId"])
	return `{"version":"v1","requestId":` + string(number) + `,"patches":[{"op":"replace","path":"/spec/replicas","value":2}]}`
}

func main() {
	reader, writer := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriter(os.Stdout)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			writer.WriteString(answer(line) + "\n")
			writer.Flush()
		}
		if err != nil || len(os.Args) < 2 {
			return
		}
	}
}
