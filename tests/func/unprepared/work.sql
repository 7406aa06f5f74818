-- SPDX-License-Identifier: MIT
-- work.sql - tables, an index, joins, recursion, json, vacuum
create table t(a integer primary key, b text, c real);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 3000) insert into t select x, 'row ' || (x * 7919 % 1000), x / 3.0 from n;
create index tb on t(b);
select count(*), sum(a), round(avg(c), 4), min(b), max(b) from t;
select b, count(*) from t group by b order by 2 desc, 1 limit 5;
select a, substr(upper(b), 1, 5), printf('%.2f', c) from t where b like '%77%' order by a limit 5;
begin; delete from t where a % 3 = 0; update t set c = c * 2 where a < 100; rollback;
select count(*) from t a join t b on a.a = b.a + 1 where a.b < b.b;
select json_extract('{"a":[1,2,{"b":3}]}', '$.a[2].b'), hex('x'), date('2024-02-29', '+1 year');
pragma integrity_check; vacuum;
select x.b, row_number() over (order by x.b desc) from (select distinct b from t) x limit 3;
