// Answers cases on standard input with what the snippet says of each.
package main

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"time"
)

func main() {
	var cases []struct {
		Header, Body, Secret string
		Now                  int64
	}
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	said := []bool{}
	for _, one := range cases {
		body, err := hex.DecodeString(one.Body)
		if err != nil {
			panic(err)
		}
		said = append(said, Verify(one.Header, body, one.Secret, time.Unix(one.Now, 0)))
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		panic(err)
	}
}
