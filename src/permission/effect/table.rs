//! Which flags of which reading commands are known to do nothing but read.
//!
//! An allow-list: a flag that is not here, or the beginning of one, makes the command like any other.
//! `reading` asks this table; commands that need more than a look at their flags are not in it.

/// What the operands of a reading command are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// Files to read.
    Paths,
    /// A pattern, then files.
    PatternThenPaths,
    /// Nothing that matters.
    Words,
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// Programs.
    pub names: &'static str,
    /// Flags without a value: clusters of letters (`-abc`) and long names; `*` for every flag.
    pub plain: &'static str,
    /// Flags with a value that is no file: letters and long names.
    pub values: &'static str,
    /// Flags with a value that is a file to be read.
    pub files: &'static str,
    /// What the operands are.
    pub operands: Operands,
}

/// The row of a program.
pub(super) fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter()
        .find(|row| row.names.split_whitespace().any(|n| n == name))
}

const fn row_of(
    names: &'static str,
    plain: &'static str,
    values: &'static str,
    operands: Operands,
) -> Row {
    Row {
        names,
        plain,
        values,
        files: "",
        operands,
    }
}

use Operands::{Paths, PatternThenPaths, Words};

const ROWS: &[Row] = &[
    // whatever their flags, these only print
    row_of("cat tac nl rev ls dir vdir pr tsort", "*", "", Paths),
    row_of(
        "echo pwd true false : seq expr basename dirname readlink realpath sleep uname whoami id groups uptime \
         nproc arch tty logname type which whereis shift return exit break continue ulimit umask locale getconf \
         cal tr free times numfmt namei lsblk",
        "*",
        "",
        Words,
    ),
    row_of(
        "head tail",
        "-0123456789qvzfFr --quiet --silent --verbose --zero-terminated --follow --retry",
        "n c s --lines --bytes --sleep-interval --pid",
        Paths,
    ),
    row_of(
        "wc",
        "-clmwL --bytes --chars --lines --words --max-line-length --total",
        "",
        Paths,
    ),
    row_of(
        "od",
        "-abcdfhiloBsxv --output-duplicates --traditional",
        "A j N S t --address-radix --skip-bytes --read-bytes --strings --format",
        Paths,
    ),
    row_of("hexdump hd", "-bcCdoxv", "e n s", Paths),
    row_of(
        "strings",
        "-afdow --all --print-file-name --include-all-whitespace",
        "n t e --bytes --radix --encoding",
        Paths,
    ),
    row_of(
        "stat",
        "-LftxsrFq --dereference --file-system --terse",
        "c --format --printf",
        Paths,
    ),
    row_of(
        "file",
        "-bikLhNnpr0 --brief --mime --mime-type --mime-encoding --extension --dereference --no-dereference \
         --keep-going --raw --no-pad --print0 --no-buffer",
        "F e P --separator --exclude --parameter",
        Paths,
    ),
    row_of(
        "du",
        "-0abchklmPsSxA --all --bytes --total --human-readable --summarize --separate-dirs --one-file-system \
         --apparent-size --si --null --inodes --time",
        "d B t --max-depth --exclude --block-size --threshold",
        Paths,
    ),
    row_of(
        "df",
        "-ahHiklPTmv --all --human-readable --inodes --portability --print-type --si --local --total --output",
        "t x B --type --exclude-type --block-size",
        Paths,
    ),
    row_of(
        "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum b3sum cksum sum",
        "-btzrsw --binary --text --zero --tag --no-names --raw",
        "a l --algorithm --length",
        Paths,
    ),
    row_of(
        "cmp",
        "-bls --print-bytes --verbose --silent --quiet",
        "i n --ignore-initial --bytes",
        Paths,
    ),
    row_of(
        "comm",
        "-123z --check-order --nocheck-order --total --zero-terminated --output-delimiter",
        "",
        Paths,
    ),
    row_of(
        "cut",
        "-nsz --complement --only-delimited --zero-terminated",
        "b c d f --bytes --characters --delimiter --fields --output-delimiter",
        Paths,
    ),
    row_of(
        "paste",
        "-sz --serial --zero-terminated",
        "d --delimiters",
        Paths,
    ),
    row_of(
        "join",
        "-iz --header --check-order --nocheck-order --ignore-case --zero-terminated",
        "1 2 a e j o t v",
        Paths,
    ),
    row_of("fold", "-bs0123456789 --bytes --spaces", "w --width", Paths),
    row_of(
        "fmt",
        "-cstu0123456789 --crown-margin --split-only --tagged-paragraph --uniform-spacing",
        "w p g --width --prefix --goal",
        Paths,
    ),
    row_of(
        "expand unexpand",
        "-ia0123456789 --initial --all --first-only",
        "t --tabs",
        Paths,
    ),
    row_of(
        "base64 base32",
        "-di --decode --ignore-garbage",
        "w --wrap",
        Paths,
    ),
    row_of(
        "zcat bzcat xzcat lzcat zstdcat",
        "-fq --force --quiet",
        "",
        Paths,
    ),
    row_of("lsattr", "-Radlpv", "", Paths),
    row_of(
        "getfacl",
        "-acenptds --omit-header --numeric --access --default",
        "",
        Paths,
    ),
    row_of(
        "diff colordiff",
        "-abBcdeEinNpqrstTuwyZ0123456789 --brief --unified --context --side-by-side --recursive --text --new-file \
         --ignore-all-space --ignore-space-change --ignore-trailing-space --ignore-blank-lines --ignore-case \
         --ignore-tab-expansion --report-identical-files --suppress-common-lines --left-column --color \
         --no-dereference --minimal --strip-trailing-cr --expand-tabs --initial-tab --normal --show-c-function",
        "C U W L I F x --width --label --exclude --ignore-matching-lines --tabsize",
        Paths,
    ),
    row_of(
        "sdiff",
        "-abBEilstWZ --suppress-common-lines --left-column",
        "w I --width",
        Paths,
    ),
    row_of(
        "diff3",
        "-aAeEimTxX3 --merge --text --show-all",
        "L --label",
        Paths,
    ),
    row_of(
        "column",
        "-txJeLnm --table --fillrows --json --keep-empty-lines --table-noextreme --table-noheadings",
        "s o c N R H r W T O --separator --output-separator --output-width --table-columns --table-right",
        Paths,
    ),
    Row {
        names: "grep egrep fgrep",
        plain: "-EFGPiyvwxcLlqsoHhnbTZUuazrRI0123456789 --extended-regexp --fixed-strings --basic-regexp \
                --perl-regexp --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count \
                --files-with-matches --files-without-match --quiet --silent --no-messages --only-matching \
                --with-filename --no-filename --line-number --byte-offset --initial-tab --null --text --binary \
                --null-data --recursive --dereference-recursive --line-buffered --color --colour",
        values: "A B C m e d D --after-context --before-context --context --max-count --regexp --include \
                 --exclude --exclude-dir --label --directories --devices --binary-files --group-separator",
        files: "f --file --exclude-from",
        operands: PatternThenPaths,
    },
    Row {
        names: "rg",
        plain: "-iSsvwxFUclnNHIopqauPL0b --hidden --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent \
                --no-ignore-dot --no-ignore-global --files --files-with-matches --files-without-match --ignore-case \
                --smart-case --case-sensitive --fixed-strings --word-regexp --line-regexp --invert-match --count \
                --count-matches --line-number --no-line-number --with-filename --no-filename --heading --no-heading \
                --only-matching --multiline --multiline-dotall --pcre2 --json --stats --quiet --vimgrep --trim --null \
                --no-messages --no-config --column --no-column --passthru --text --unrestricted --follow --no-follow \
                --type-list --glob-case-insensitive --crlf --pretty --one-file-system --include-zero --byte-offset \
                --max-columns-preview --null-data --no-unicode --auto-hybrid-regex --line-buffered",
        values: "A B C m e g t T j M r d E --after-context --before-context --context --max-count --regexp --glob \
                 --iglob --type --type-not --type-add --threads --max-columns --replace --max-depth --maxdepth \
                 --sort --sortr --colors --color --engine --encoding --max-filesize --context-separator \
                 --field-match-separator --field-context-separator --path-separator",
        files: "f --file --ignore-file",
        operands: PatternThenPaths,
    },
    Row {
        names: "fd fdfind",
        plain: "-HIusigFaLp0q1 --hidden --no-ignore --no-ignore-vcs --unrestricted --case-sensitive --ignore-case \
                --glob --regex --fixed-strings --absolute-path --follow --full-path --print0 --quiet \
                --one-file-system --show-errors --prune --strip-cwd-prefix",
        values: "e E t d S o j c --extension --exclude --type --max-depth --min-depth --exact-depth --size --owner \
                 --changed-within --changed-before --max-results --threads --color --path-separator",
        files: "--base-directory --search-path --ignore-file",
        operands: PatternThenPaths,
    },
    row_of(
        "tree",
        "-adlfxpugshDNFqrtUvcCASXJi --filesfirst --dirsfirst --noreport --gitignore --prune --du --si --inodes \
         --device --matchdirs --ignore-case --metafirst",
        "L P I T --filelimit --charset --timefmt --sort",
        Paths,
    ),
    row_of(
        "exa eza",
        "-laAhRTFGdrtiSsHgmu1x --all --long --tree --git --header --icons --group-directories-first --color \
         --oneline --recurse --reverse --no-permissions --no-user --no-time --no-filesize",
        "L I --level --sort --ignore-glob",
        Paths,
    ),
    row_of(
        "sort",
        "-bdfgiMhnRrVcCmsuz --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort \
         --human-numeric-sort --numeric-sort --random-sort --reverse --version-sort --check --merge --stable \
         --unique --zero-terminated --month-sort --ignore-nonprinting --debug",
        "k t S --key --field-separator --buffer-size --parallel --batch-size --sort",
        Paths,
    ),
    row_of(
        "tokei",
        "-fsC --files --compact",
        "o e t --output --exclude --type --sort",
        Paths,
    ),
    row_of(
        "cloc",
        "--by-file --json --csv --md --yaml --quiet --hide-rate",
        "",
        Paths,
    ),
    row_of(
        "scc",
        "-aw --by-file --no-cocomo --wide --no-complexity",
        "f i --format --include-ext --exclude-dir",
        Paths,
    ),
    row_of(
        "ps",
        "-eAfFlajxuwHLTMmNdcyq --forest --no-headers --headers",
        "o O p C g G s t u U --format --pid --ppid --user --group --sort --cols --columns",
        Words,
    ),
    row_of("pgrep", "-aflnovxciLwd", "u U G g P s t", Words),
    row_of("hash", "-lrt", "", Words),
    row_of("jobs", "-lnprs", "", Words),
    row_of("wait", "-nf", "", Words),
    row_of(
        "hostname",
        "-fisIdA --fqdn --long --short --ip-address --all-ip-addresses --domain",
        "",
        Words,
    ),
];
