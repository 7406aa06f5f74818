// SPDX-License-Identifier: MIT
/* sqlite.c - inserts into SQLite in memory; how often it called sqlite3_step and friends goes to standard error */
#include <stdio.h>
#include <stdlib.h>
#include "sqlite3.h"

static long steps, binds;
static sqlite3 *db;

static int step(sqlite3_stmt *s)
{
	steps++;
	return sqlite3_step(s);
}

static sqlite3_stmt *prepare(const char *sql)
{
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK)
		return s;
	fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
	exit(1);
}

/* By prepared statements only: sqlite3_exec() would make steps that are not counted here. */
static void do_once(const char *sql)
{
	sqlite3_stmt *s = prepare(sql);

	step(s);
	sqlite3_finalize(s);
}

static void insert(sqlite3_stmt *s, int i, int n)
{
	char name[32];

	snprintf(name, sizeof(name), "row %d", (int)(i * 7919l % n));
	binds += 3;
	sqlite3_bind_int(s, 1, i);
	sqlite3_bind_text(s, 2, name, -1, SQLITE_TRANSIENT);
	sqlite3_bind_double(s, 3, i * 0.5);
	step(s);
	sqlite3_reset(s);
}

int main(int argc, char **argv)
{
	int i, n = argc > 1 ? atoi(argv[1]) : 1000;
	sqlite3_stmt *s;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		return 1;
	do_once("create table t(a integer primary key, b text, c real)");
	do_once("create index i on t(b)");
	do_once("begin");
	s = prepare("insert into t values(?, ?, ?)");
	for (i = 0; i < n; i++)
		insert(s, i, n);
	sqlite3_finalize(s);
	do_once("commit");
	s = prepare("select b, c from t order by b");
	while (step(s) == SQLITE_ROW)
		printf("%s %.1f\n", sqlite3_column_text(s, 0), sqlite3_column_double(s, 1));
	sqlite3_finalize(s);
	sqlite3_close(db);
	fprintf(stderr, "step %ld\nbind %ld\n", steps, binds);
	return 0;
}
