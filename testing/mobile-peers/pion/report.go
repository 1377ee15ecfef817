package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// now returns nanoseconds of CLOCK_MONOTONIC, which all processes share.
func now() int64 {
	var time unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &time)
	return time.Nano()
}

// report prints an event with its time; further members follow as text.
func report(event string, at int64, members string, arguments ...any) {
	fmt.Printf(`{"event":"%s","at":%d%s}`+"\n", event, at, fmt.Sprintf(members, arguments...))
}

func fail(err error) {
	why := strings.NewReplacer(`"`, "'", `\`, "'", "\n", " ").Replace(err.Error())
	report("failed", now(), `,"why":"%s"`, why)
	os.Exit(1)
}

func cpuMicroseconds() int64 {
	var usage unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage)
	return (usage.Utime.Nano() + usage.Stime.Nano()) / 1000
}
