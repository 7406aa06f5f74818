// SPDX-License-Identifier: MIT
// Collections, faults that are exceptions, a full stack, threads: what a virtual machine does behind a program's back.
public class Work {
	static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	static int deeper(int n) { return deeper(n + 1) + 1; }

	public static void main(String[] args) throws Exception {
		String none = null;
		int caught = 0, sum = 0;
		Object[] kept = new Object[100];
		long[] result = new long[4];
		Thread[] threads = new Thread[4];

		for (int i = 0; i < 20000; i++) {
			try { sum += none.length(); } catch (NullPointerException e) { caught++; }
			kept[i % 100] = new int[1000];
		}
		System.out.println(fib(22) + " " + caught);
		for (int i = 0; i < 4; i++) {
			final int k = i;
			threads[i] = new Thread(() -> { result[k] = fib(15 + k); });
			threads[i].start();
		}
		for (Thread t : threads)
			t.join();
		System.out.println(result[3]);
		try { deeper(0); } catch (StackOverflowError e) { System.out.println("full"); }
		System.gc();
	}
}
