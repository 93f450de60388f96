# slim.sh FOLDER: takes out of a virtual environment what a running program does not need, then compiles what it loads.
set -eu
site=$(echo "$1"/lib/python3*/site-packages)
# Symbols for debuggers. Libraries under *.libs were changed after linking, and strip would break them.
find "$site" -name '*.so' -not -path '*.libs/*' -exec strip --strip-unneeded {} +
find "$site" -type d -name tests -prune -exec rm -rf {} +
find "$site" \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.c' -o -name '*.h' \) -delete
# The pages speak Russian and English.
find "$site/babel/locale-data" -name '*.dat' -not -name 'ru*.dat' -not -name 'en*.dat' -not -name root.dat -delete
# These modules are hardly ever loaded.
"$1/bin/python" -m compileall -q -j 0 -x '/(pygments/lexers|pygments/styles|setuptools|sqlalchemy/dialects/(mysql|mssql|oracle|sqlite))/' "$site"
