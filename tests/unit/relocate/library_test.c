// SPDX-License-Identifier: MIT
/*
 * library_test.c NAME [MODULE] - every function of a library of this machine, rewritten, does what it did
 *
 * m: every exported function of one or two doubles, over many values. crypto: every digest of some inputs, a cipher, big
 * numbers. sqlite: a script of statements. cxx: libstdc++ by MODULE (cxx_work.cc). c: strings, numbers, sorting, printing, regular expressions, files, a thread, a child, a
 * handler. What it says (a digest of all results) must be the same before, while and after the library is rewritten,
 * and at least a part of its functions must have been passed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <regex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "rewrite.h"
#include "symbol/elf_view.h"
#include "symbol/object_internal.h"

static uint64_t digest;

static void add(const void *p, size_t n)
{
	const uint8_t *b = p;

	while (n--)
		digest = (digest ^ *b++) * 0x100000001b3ull;
}

static void add_text(const char *s)
{
	add(s, strlen(s) + 1);
}

/* ---- libm ------------------------------------------------------------------------------------- */

static const char *const unary[] = { "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
	"acosh",
	"atanh", "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "logb", "sqrt", "cbrt", "erf",
	"erfc",
	"tgamma", "lgamma", "floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven", "j0", "j1", "y0",
	"y1" };
static const char *const binary[] = { "pow", "atan2", "hypot", "fmod", "remainder", "fdim", "fmax", "fmin", "nextafter",
	"copysign", "drem", "scalb" };

static void work_m(void *lib, const struct rewrite *r)
{
	(void)r;
	for (size_t i = 0; i < sizeof(unary) / sizeof(unary[0]); i++) {
		double (*f)(double) = (double (*)(double))dlsym(lib, unary[i]);

		for (int k = -200; f && k < 200; k++) {
			double y = f(k * 0.37 + 0.0625);

			add(&y, sizeof(y));
		}
	}
	for (size_t i = 0; i < sizeof(binary) / sizeof(binary[0]); i++) {
		double (*f)(double, double) = (double (*)(double, double))dlsym(lib, binary[i]);

		for (int k = -20; f && k < 20; k++)
			for (int j = -20; j < 20; j++) {
				double y = f(k * 1.37, j * 0.31);

				add(&y, sizeof(y));
			}
	}
}

/* ---- libcrypto -------------------------------------------------------------------------------- */

static void *crypto;
#define C(ret, name, ...) ((ret (*)(__VA_ARGS__))dlsym(crypto, #name))

static void one_digest(const void *md, const char *from, const char *to, void *arg)
{
	static uint8_t input[5000];
	uint8_t out[64];
	unsigned n = 0;

	(void)from; (void)to; (void)arg;
	if (!md)
		return;
	for (size_t i = 0; i < sizeof(input); i++)
		input[i] = (uint8_t)(i * i + i / 3);
	for (size_t len = 0; len < sizeof(input); len += 333)
		if (C(int, EVP_Digest, const void *, size_t, void *, unsigned *, const void *, void *)(input, len, out,
												       &n, md, NULL))
			add(out, n);
}

static const char *const ciphers[] = { "aes-128-cbc", "aes-192-ecb", "aes-256-ctr", "aes-256-gcm", "aes-128-ofb",
	"aes-128-cfb8",
	"chacha20", "chacha20-poly1305", "camellia-128-cbc", "camellia-256-ctr", "des-ede3-cbc", "aria-128-cbc",
	"aria-256-gcm",
	"sm4-ctr", "aes-128-ocb" };

static void one_cipher(const void *cipher)
{
	void *ctx = C(void *, EVP_CIPHER_CTX_new, void)();
	static const uint8_t key[64] = "0123456789abcdefghijklmnopqrstuvwxyz", iv[32] = "ivivivivivivivivivi";
	uint8_t in[200], out[400];
	int n = 0, more = 0;

	memset(in, 0x5a, sizeof(in));
	if (cipher && C(int, EVP_EncryptInit_ex, void *, const void *, void *, const void *, const void *)(ctx, cipher,
		NULL, key, iv) == 1 &&
	    C(int, EVP_EncryptUpdate, void *, void *, int *, const void *, int)(ctx, out, &n, in, sizeof(in)) == 1 &&
	    n > 0) {
		add(out, (size_t)n);
		if (C(int, EVP_EncryptFinal_ex, void *, void *, int *)(ctx, out, &more) == 1 && more > 0)
			add(out, (size_t)more);
	}
	C(void, EVP_CIPHER_CTX_free, void *)(ctx);
}

static void big_numbers(void)
{
	void *a = C(void *, BN_new, void)(), *b = C(void *, BN_new, void)(), *m = C(void *, BN_new, void)(),
	     *x = C(void *, BN_new, void)(), *ctx = C(void *, BN_CTX_new, void)();
	char *text;

	C(int, BN_hex2bn, void **, const char *)(&m,
						 "C90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
		"EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B");
	C(int, BN_set_word, void *, unsigned long)(a, 123456789123ul);
	C(int, BN_lshift, void *, const void *, int)(b, a, 700);
	for (int i = 0; i < 20; i++) {
		C(int, BN_mod_exp, void *, const void *, const void *, const void *, void *)(x, a, b, m, ctx);
		C(int, BN_mul, void *, const void *, const void *, void *)(b, x, a, ctx);
		C(int, BN_add_word, void *, unsigned long)(a, 7919);
		text = C(char *, BN_bn2hex, const void *)(x);
		add_text(text);
		free(text);
	}
	C(void, BN_CTX_free, void *)(ctx);
	C(void, BN_free, void *)(a);
	C(void, BN_free, void *)(b);
	C(void, BN_free, void *)(m);
	C(void, BN_free, void *)(x);
}

static void work_crypto(void *lib, const struct rewrite *r)
{
	(void)r;
	crypto = lib;
	C(void, EVP_MD_do_all_sorted, void *, void *)(one_digest, NULL);
	for (size_t i = 0; i < sizeof(ciphers) / sizeof(ciphers[0]); i++)
		one_cipher(C(const void *, EVP_get_cipherbyname, const char *)(ciphers[i]));
	big_numbers();
}

/* ---- libsqlite3 -------------------------------------------------------------------------------- */

static int one_row(void *arg, int n, char **value, char **name)
{
	(void)arg;
	for (int i = 0; i < n; i++) {
		add_text(name[i]);
		add_text(value[i] ? value[i] : "NULL");
	}
	return 0;
}

static void work_sqlite(void *lib, const struct rewrite *r)
{
	static const char *const sql[] = {
		"create table t(id integer primary key, a text, b real, c blob)",
		("with recursive n(i) as (select 1 union all select i+1 from n where i<2000) insert into t select i, "
		 "printf('row %05d %s', i*7919%2003, hex(i)), i/7.0, zeroblob(i%50) from n"),
		"create index ta on t(a)", "create view v as select a, count(*) over (order by b) k from t",
		"select count(*), sum(id), avg(b), max(a), min(a), group_concat(substr(a,5,3)) from t where a glob 'row 00*'",
		"select t1.id, t2.id from t t1 join t t2 on t1.id*2=t2.id where t2.a like '%1%' order by t1.a limit 50",
		"update t set a=upper(a), b=b*b where id%3=0", "delete from t where id%5=0",
		"select k, a from v where k<40",
		"create table j(d json)", "insert into j values('{\"x\":[1,2,{\"y\":3}]}')",
		"select json_extract(d,'$.x[2].y') from j",
		"select a from t where nonsense",
		"begin; insert into t(a) values('x'); rollback; select count(*) from t",
		"create virtual table f using fts5(body)", "insert into f values('the quick brown fox'),('lazy dogs')",
		"select * from f where f match 'quick OR dogs'", "pragma integrity_check",
		"explain query plan select * from t where a='x'",
		"select date(1e9,'unixepoch'), round(3.14159,2), quote(x'00ff'), unicode('\xc3\xa9'), instr('abc','c')",
	};
	int (*open)(const char *, void **) = (int (*)(const char *, void **))dlsym(lib, "sqlite3_open");
	int (*exec)(void *, const char *, void *, void *, char **) =
		(int (*)(void *, const char *, void *, void *, char **))dlsym(lib, "sqlite3_exec");
	int (*end)(void *) = (int (*)(void *))dlsym(lib, "sqlite3_close");
	void *db;

	(void)r;
	if (open(":memory:", &db))
		return;
	for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]); i++) {
		char *err = NULL;
		int ret = exec(db, sql[i], one_row, NULL, &err);

		add(&ret, sizeof(ret));
		if (err)
			add_text(err);
	}
	end(db);
}

/* ---- libc ------------------------------------------------------------------------------------- */

static int compare_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static void *thread(void *arg)
{
	char buf[64];

	snprintf(buf, sizeof(buf), "%s %5.3f", (const char *)arg, 1.5);
	return strdup(buf);
}

static sigjmp_buf handler_env;
static void handler(int sig)
{
	siglongjmp(handler_env, sig);
}

static void c_strings(void)
{
	char a[600] = "", b[600];

	for (size_t n = 0; n < 500; n += 7) {
		for (size_t i = 0; i < n; i++)
			a[i] = (char)('a' + (i * n) % 26);
		a[n] = 0;
		memset(b, 0, sizeof(b));
		memcpy(b, a, n + 1);
		memmove(b + 3, b, n / 2);
		add(b, n);
		add_text(strchrnul(b, 'q'));
		for (int k = 0; k < 4; k++) {
			long v[] = { strcmp(a, b), (long)strlen(a + k), memcmp(a, b, n), strstr(a, "xyz") - a,
				(long)strcspn(b, "zq"),
				     (char *)memrchr(b, 'e', n) - b, strcasecmp(a, b), (long)strspn(a, "abcdef"),
				     strncmp(a, b, n / 2) };

			for (size_t i = 0; i < 9; i++)
				v[i] = v[i] < -600 || v[i] > 600 ? -1 : v[i];
			add(v, sizeof(v));
		}
	}
}

static void c_numbers(void)
{
	char buf[300];
	int v[1000];
	wchar_t w[64];

	for (int i = 0; i < 100; i++) {
		snprintf(buf, sizeof(buf), "%d %#x %-10s|%+.3e %Lf %c %ls %08.3g %n", i * i, i, "abc", i / 3.0,
			 (long double)i, 'a' + i % 26, L"wide", i * 1e5, &v[0]);
		add_text(buf);
		swprintf(w, 64, L"%d-%f", i, i / 9.0);
		add(w, wcslen(w) * sizeof(*w));
		add(&(double){ strtod(buf, NULL) + (double)strtoul(buf, NULL, 16) }, 8);
	}
	for (int i = 0; i < 1000; i++)
		v[i] = i * 7919 % 1009;
	qsort(v, 1000, sizeof(v[0]), compare_int);
	add(v, sizeof(v));
	srandom(7);
	add(&(long){ random() }, 8);
}

static void c_system(void)
{
	char buf[200];
	pthread_t t;
	void *s = NULL;
	regex_t re;
	regmatch_t m[3];
	time_t when = 1e9;
	int fds[2], status = 0, sig;
	FILE *f;
	pid_t pid;

	add(&(int){ regcomp(&re, "([a-z]+)-([0-9]+)$", REG_EXTENDED) }, 4);
	add(&(int){ regexec(&re, "some text-1234", 3, m, 0) }, 4);
	add(m, sizeof(m));
	regfree(&re);
	strftime(buf, sizeof(buf), "%F %T %A", gmtime(&when));
	add_text(buf);
	pthread_create(&t, NULL, thread, "thread");
	pthread_join(t, &s);
	add_text(s);
	free(s);
	f = tmpfile();
	for (int i = 0; f && i < 1000; i++)
		fprintf(f, "line %d\n", i);
	rewind(f);
	while (fgets(buf, sizeof(buf), f))
		add_text(buf);
	fclose(f);
	if (pipe(fds))
		return;
	pid = fork();
	if (!pid) {
		dprintf(fds[1], "child %d", 7);
		_exit(3);
	}
	waitpid(pid, &status, 0);
	add(&status, 4);
	add(buf, (size_t)read(fds[0], buf, sizeof(buf)));
	close(fds[0]);
	close(fds[1]);
	signal(SIGUSR1, handler);
	sig = sigsetjmp(handler_env, 1);
	if (!sig)
		raise(SIGUSR1);
	add(&sig, 4);
	add(&(int){ system("exit 5") }, 4);
	add_text(setlocale(LC_ALL, "C.UTF-8"));
	add(&(size_t){ mbstowcs(NULL, "\xc3\xa9t\xc3\xa9", 0) }, 8);
	setlocale(LC_ALL, "C");
}

static void work_c(void *lib, const struct rewrite *r)
{
	(void)lib; (void)r;
	c_strings();
	c_numbers();
	c_system();
}

/* ---- libstdc++ --------------------------------------------------------------------------------- */

static const char *cxx_module;

static void work_cxx(void *lib, const struct rewrite *r)
{
	void *module = dlopen(cxx_module, RTLD_NOW);
	void (*work)(void (*)(const char *)) =
		module ? (void (*)(void (*)(const char *)))dlsym(module, "cxx_work") : NULL;

	(void)lib; (void)r;
	if (work)
		work(add_text);
}

/* ---- All of them ------------------------------------------------------------------------------- */

static const struct { const char *name,
	*file; void (*work)(void *lib, const struct rewrite *r); size_t passed; } libs[] = {
	{ "m", "libm.so.6", work_m, 40 },
	{ "crypto", "libcrypto.so.3", work_crypto, 400 },
	{ "sqlite", "libsqlite3.so.0", work_sqlite, 800 },
	{ "cxx", "libstdc++.so.6", work_cxx, 150 },
	{ "c", "libc.so.6", work_c, 250 },
};

static uint64_t run(size_t i, void *lib, const struct rewrite *r)
{
	digest = 0xcbf29ce484222325ull;
	libs[i].work(lib, r);
	return digest;
}

int main(int argc, char **argv)
{
	size_t i, k, passed = 0;
	uint64_t before, during, after;
	struct rewrite r;
	void *lib;

	cxx_module = argc > 2 ? argv[2] : "";
	for (i = 0; i < 4 && argc > 1 && strcmp(libs[i].name, argv[1]); i++)
		;
	lib = dlopen(libs[i].file, RTLD_NOW);
	if (!lib) {
		printf("SKIP: %s\n", dlerror());
		return 77;
	}
	if (rewrite_open(&r, lib) || rewrite_plan(&r))
		return 1;
	run(i, lib, &r);	/* what is lazily bound or cached is so now */
	before = run(i, lib, &r);
	if (rewrite_apply(&r))
		return 1;
	during = run(i, lib, &r);
	rewrite_undo(&r);
	for (k = 0; k < r.entries.n; k++)
		passed += r.count[k] != 0;
	after = run(i, lib, &r);
	printf("%s: %zu of %zu functions rewritten, %zu were passed\n", libs[i].file, r.napplied, r.entries.n, passed);
	if (before != during || before != after)
		printf("FAIL: results are %016lx before, %016lx rewritten, %016lx after\n", before, during, after);
	if (passed < libs[i].passed)
		printf("FAIL: only %zu functions were passed\n", passed);
	return before != during || before != after || passed < libs[i].passed;
}
