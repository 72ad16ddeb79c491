#!/bin/sh
# Compiles the samples: CLANG=clang-14 ./compile.sh; the objects in git are those of Debian 12's clang 14.
set -eu
cd "$(dirname "$0")"
for source in *.c; do
	${CLANG:-clang} -O2 -g -target bpfel -mcpu=v3 -Wall -Wno-unused-variable -Wno-unused-const-variable \
		-fdebug-compilation-dir=. -c "$source" -o "${source%.c}.o"
	${STRIP:-llvm-strip} -g "${source%.c}.o"
done
