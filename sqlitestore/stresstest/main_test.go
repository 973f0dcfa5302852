package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if inWorker() {
		os.Exit(workerMain())
	}
	os.Exit(m.Run())
}

func TestStress(t *testing.T) {
	var log strings.Builder
	p := play{duration: 4 * time.Second, processes: 4, seed: uint64(time.Now().UnixNano()), log: &log}
	if testing.Short() {
		p.duration = time.Second
	}
	err := p.run(t.Context())
	t.Log(log.String())
	if err != nil {
		t.Fatal(err)
	}
}
