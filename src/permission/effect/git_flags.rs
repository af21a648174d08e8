//! Flags of git's reading subcommands that are known to do nothing but read. What is not here, or is
//! only the beginning of one of these, makes the call like any other.

/// Single letters, whatever the subcommand; `-O` runs a pager in one of them and is not here.
pub(super) const LETTERS: &str = "-abcdefghiklmnopqrstuvwxyzABCDEFGHILMNPQRSTUWXZ0123456789";

/// Flags that take a value.
pub(super) const VALUES: &str = "n G S L U M C --format --since --until --after --before --author --committer --grep \
    --max-count --skip --date --sort --points-at --contains --no-contains --pretty --diff-filter";

/// Long flags without a value, or with one after `=`.
pub(super) const LONG: &str = "--abbrev --abbrev-commit --abbrev-ref --absolute-git-dir --algorithm --all --all-match \
    --ancestor-path --anchored --and --annotate-stdin --array --author-date-order --batch --batch-all-objects \
    --batch-check --bisect --boundary --branch --branches --break-rewrites --cached --cc --check --cherry \
    --cherry-mark --cherry-pick --children --color --color-moved --color-words --column --combined-all-paths \
    --compact-summary --count --cumulative --cut --date-order --debug --decorate --decorate-refs --dense --dereference \
    --description --diff-algorithm --diff-merges --directory --dirstat --dirty --disambiguate --do-walk --dst-prefix \
    --encoding --eol --error-unmatch --exact-match --exclude --exclude-standard --exclude-existing --exit-code \
    --expand-tabs --extended-regexp --find-copies --find-copies-harder --find-object --find-renames --first-parent \
    --fixed-strings --follow --full-diff --full-history --full-index --full-name --full-tree --function-context --get \
    --get-all --get-regexp --get-urlmatch --git-common-dir --git-dir --git-path --graph --hash --heading --histogram \
    --ignore-all-space --ignore-blank-lines --ignore-case --ignore-cr-at-eol --ignore-matching-lines --ignore-missing \
    --ignore-rev --ignore-space-at-eol --ignore-space-change --ignore-submodules --ignored --incremental --independent \
    --index --inter-hunk-context --invert-grep --invert-match --is-ancestor --is-bare-repository --is-inside-git-dir \
    --is-inside-work-tree --is-shallow-repository --left-only --left-right --line-number --line-porcelain \
    --line-prefix --list --local --local-env-vars --log-size --long --ls-files --mailmap --match --max-depth --max-parents \
    --merge --merge-base --merged --merges --min-parents --minimal --modified --name-only --name-status --names-only \
    --no-abbrev --no-abbrev-commit --no-ahead-behind --ahead-behind --no-color --no-color-moved --no-column \
    --no-contains --no-decorate --no-ext-diff --no-expand-tabs --no-max-parents --no-merged --no-merges \
    --no-min-parents --no-notes --no-patch --no-pager --no-prefix --no-relative --no-renames --no-revs --no-show-signature \
    --no-standard-notes --no-textconv --no-walk --not --notes --null --numbered --numstat --object-only --objects \
    --oneline --only-matching --or --others --paginate --parents --patch --patch-with-raw --patch-with-stat --patience \
    --path-format --perl-regexp --pickaxe-all --pickaxe-regex --porcelain --prefix --quiet --raw --recurse-submodules \
    --recursive --reflog --refs --regexp-ignore-case --relative --relative-date --remotes --remove-empty --rename-empty \
    --renames --reverse --revs-only --right-only --root --root-only --score-debug --shallow-file --short --shortstat \
    --show --show-all --show-cdup --show-current --show-email --show-forced-updates --show-function --show-name \
    --show-number --show-object-format --show-origin --show-prefix --show-pulls --show-ref-format --show-scope \
    --show-stash --show-superproject-working-tree --show-toplevel --showing --simplify-by-decoration --simplify-merges \
    --single-worktree --sparse --src-prefix --stage --staged --stat --stat-count --stat-graph-width --stat-name-width \
    --stat-width --submodule --summary --symbolic --symbolic-full-name --tags --text --topo-order --topics --unified \
    --unmerged --unordered --untracked --untracked-files --use-mailmap --verbose --verify --version --walk-reflogs --word-diff \
    --word-diff-regex --word-regexp --worktree --ws-error-highlight --z --format --no-renames --show-linear-break \
    --no-ignore-case --ext-grep --basic-regexp --files-with-matches --files-without-match --name-rev --no-undefined --bool \
    --type --int --path --global --system --includes --null --no-optional-locks --since-as-filter --glob --tree-filter-none \
    --lines --always --tag --candidates --first --ignore-space --line --deleted --killed --deduplicate --sparse-index \
    --no-empty-directory --other --unresolve --max-age --min-age --no-empty --sha1 --reference --email --group --summary-only \
    --pretty --since --until --after --before --author --committer --grep --max-count --skip --date --sort --points-at \
    --contains --diff-filter --bare --verify-objects";
