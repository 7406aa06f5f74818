// SPDX-License-Identifier: MIT
// Collect.cs - a program of Mono whose stack is walked: by StackTrace, exceptions, reflection and the collector
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;

class Collect {
	class Node { public Node next; public int value; }

	[MethodImpl(MethodImplOptions.NoInlining)]
	static Node Build(int n) { return n == 0 ? null : new Node { next = Build(n - 1), value = n }; }

	[MethodImpl(MethodImplOptions.NoInlining)]
	static string Caller() { return new StackTrace().GetFrame(1).GetMethod().Name; }

	[MethodImpl(MethodImplOptions.NoInlining)]
	static int Fail(int n) { if (n == 0) throw new InvalidOperationException("deep"); return Fail(n - 1) + 1; }

	static int Sum(int rounds)
	{
		int sum = 0;
		for (int i = 0; i < rounds; i++)
			for (Node node = Build(100); node != null; node = node.next)
				sum += node.value;
		return sum;
	}

	static int Main()
	{
		int other = 0, caught = 0;
		var thread = new Thread(() => other = Sum(500));

		thread.Start();
		int mine = Sum(500);
		thread.Join();
		GC.Collect();
		for (int i = 0; i < 20; i++)
			try { Fail(20); } catch (InvalidOperationException e) { caught += e.StackTrace.Split('\n').Length; }
		Console.WriteLine(Caller() + " " + mine + " " + other + " " + caught);
		Console.WriteLine(System.Reflection.Assembly.GetExecutingAssembly().GetName().Name);
		return 0;
	}
}
