//! Linux: Landlock for files, seccomp for the network and for ways around.
//!
//! Landlock only grants, and a grant reaches all that is below. To leave secrets out, the folders
//! above a secret are granted child by child. Names of files stay visible everywhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use super::{Policy, Support};

/// The newest Landlock that this file knows; older kernels get what they have.
const NEWEST: ABI = ABI::V6;

/// Devices that every program may use. `/dev/tty` is not one: it is dunlin's own terminal.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Asks the kernel by making a ruleset that is thrown away.
pub(super) fn detect() -> Support {
    let created = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(Ruleset::create);
    if let Err(error) = created {
        return Support::None {
            reason: format!("The kernel offers no Landlock ({error}), so commands ask."),
        };
    }
    if let Err(error) = filter(false) {
        return Support::None {
            reason: format!(
                "There is no system call filter for this machine ({error}), so commands ask."
            ),
        };
    }
    Support::Full {
        how: "Landlock and seccomp".to_owned(),
    }
}

/// Confines this thread, and what it becomes, for ever. The error is a sentence; then the command
/// must not run.
pub(super) fn apply(policy: &Policy) -> Result<(), String> {
    let filter = filter(policy.network).map_err(|e| failed(&e))?;
    let status = files(policy).map_err(|e| failed(&e))?;
    if status == RulesetStatus::NotEnforced {
        return Err(failed(&"the kernel does not enforce it"));
    }
    seccompiler::apply_filter(&filter).map_err(|e| failed(&e))
}

fn failed(why: &dyn std::fmt::Display) -> String {
    format!("the sandbox could not be set up ({why}), so the command did not run.")
}

fn files(policy: &Policy) -> Result<RulesetStatus, landlock::RulesetError> {
    let everything = AccessFs::from_all(NEWEST);
    let writing = everything & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let reading = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
    let secrets: Vec<PathBuf> = policy
        .unreadable
        .iter()
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    let mut rules = Ruleset::default()
        .handle_access(everything)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?;
    // names are visible, contents are granted below
    rules = grant(rules, Path::new("/"), AccessFs::ReadDir.into())?;
    rules = grant_but(rules, Path::new("/"), &secrets, reading, 0)?;
    for device in DEVICES {
        let access =
            AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
        rules = grant(rules, Path::new(device), access)?;
    }
    for folder in &policy.writable {
        let Ok(folder) = folder.canonicalize() else {
            continue;
        };
        if secrets.iter().any(|secret| folder.starts_with(secret)) {
            continue;
        }
        // around a secret only what is there now can be written: a grant for new files would reach
        // the secret's own folder
        rules = grant_but(rules, &folder, &secrets, writing, 0)?;
    }
    Ok(rules.restrict_self()?.ruleset)
}

/// Grants a path and all below it. What is not there, or not ours to open, is left out.
fn grant(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let Ok(handle) = PathFd::new(path) else {
        return Ok(rules);
    };
    let access = if path.is_dir() {
        access
    } else {
        access & AccessFs::from_file(NEWEST)
    };
    rules.add_rule(PathBeneath::new(handle, access))
}

/// Grants a folder without the secrets in it: as a whole if there are none, else child by child.
fn grant_but(
    mut rules: RulesetCreated,
    path: &Path,
    secrets: &[PathBuf],
    access: BitFlags<AccessFs>,
    depth: usize,
) -> Result<RulesetCreated, landlock::RulesetError> {
    if secrets.iter().any(|secret| secret == path) {
        return Ok(rules);
    }
    if !secrets.iter().any(|secret| secret.starts_with(path)) {
        return grant(rules, path, access);
    }
    if depth > 16 {
        return Ok(rules);
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        // a link is judged by where it leads, so it needs no grant of its own
        if entry.file_type().is_ok_and(|t| !t.is_symlink()) {
            rules = grant_but(rules, &entry.path(), secrets, access, depth + 1)?;
        }
    }
    Ok(rules)
}

/// System calls that lead out of a sandbox, whatever their arguments.
const FORBIDDEN: &[libc::c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_open_by_handle_at,
    // it can do what other calls do without being seen here
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Second numbering of every call on `x86_64`.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// The filter: what matches fails with `EPERM`.
fn filter(network: bool) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in FORBIDDEN {
        rules.insert(*call, Vec::new());
    }
    // typing into dunlin's terminal
    let ioctl = |request: u64| {
        let condition =
            SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request)?;
        SeccompRule::new(vec![condition])
    };
    rules.insert(
        libc::SYS_ioctl,
        vec![ioctl(libc::TIOCSTI)?, ioctl(libc::TIOCLINUX)?],
    );
    if !network {
        let not = |family: libc::c_int| {
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family as u64)
        };
        // every family but local sockets and questions to the kernel about interfaces
        let rule = SeccompRule::new(vec![not(libc::AF_UNIX)?, not(libc::AF_NETLINK)?])?;
        rules.insert(libc::SYS_socket, vec![rule]);
    }
    #[cfg(target_arch = "x86_64")]
    {
        let second: Vec<_> = rules
            .iter()
            .map(|(call, rule)| (call | X32, rule.clone()))
            .collect();
        rules.extend(second);
    }
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM as u32),
        std::env::consts::ARCH.try_into()?,
    )?;
    filter.try_into()
}
