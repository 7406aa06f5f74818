(* SPDX-License-Identifier: MIT
   collect.ml - allocates below a hundred frames, so that the collector walks them: it knows each by its return address *)
let rec build n = if n = 0 then [] else let rest = build (n - 1) in n :: rest
let () =
  let sum = ref 0 in
  for _ = 1 to 2000 do sum := !sum + List.length (Sys.opaque_identity (build 100)) done;
  Gc.full_major ();
  (try ignore (List.find (fun n -> n > 100) (build 100)) with Not_found -> ());
  Printf.printf "%d\n" !sum
