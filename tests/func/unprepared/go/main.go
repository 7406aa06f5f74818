// SPDX-License-Identifier: MIT

// Goroutines whose stacks grow and move, with the garbage collector and a caught fault, between calls of C that call back.
package main

// int c_sum(int n);
// int c_back(int n);
import "C"

import (
	"fmt"
	"runtime"
	"sync"
)

//export goBack
func goBack(n C.int) C.int { return C.c_back(n) }

//go:noinline
func deep(n int, a [32]int) int {
	if n == 0 {
		return a[3]
	}
	a[n%32] = n
	return deep(n-1, a) + a[n%32]
}

func work(id int) int {
	s := 0
	for i := 0; i < 20; i++ {
		s += deep(100+i*20, [32]int{3: id})
		s += int(C.c_sum(C.int(10 + i)))
		s += int(C.c_back(3))
		b := make([]byte, 10000)
		b[i] = byte(i)
		s += int(b[i])
		runtime.Gosched()
	}
	return s
}

func fault() {
	defer func() { fmt.Println("recovered", recover()) }()
	var p *int
	*p = 1
}

func main() {
	var wg sync.WaitGroup
	res := make([]int, 50)
	for g := range res {
		wg.Add(1)
		go func(g int) {
			defer wg.Done()
			res[g] = work(g)
			if g%10 == 0 {
				runtime.GC()
			}
		}(g)
	}
	wg.Wait()
	t := 0
	for _, r := range res {
		t += r
	}
	fault()
	fmt.Println(t)
}
