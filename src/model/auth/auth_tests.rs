//! Keys in a file and in a keyring: kept, listed, masked, moved, removed, and never shown.

use super::*;

fn key(text: &str) -> SecretString {
    SecretString::from(text.to_owned())
}

#[test]
fn keys_are_kept_listed_masked_and_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("deep").join("config");
    assert!(load(&dir).0.is_empty());
    let file = Some(Place::File);
    login(&dir, "anthropic", &key(" sk-ant-0123456789abcdef\n"), file).expect("stored");
    login(&dir, "openai", &key("sk-oai-0123456789abcdef"), file).expect("stored");
    let (keys, problems) = load(&dir);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(keys["anthropic"].expose_secret(), "sk-ant-0123456789abcdef");
    assert_eq!(
        list(&dir).expect("readable")[0],
        Stored {
            provider: "anthropic".to_owned(),
            place: Place::File,
            masked: Ok("sk-a…cdef".to_owned()),
        }
    );
    assert!(logout(&dir, "anthropic").expect("written"));
    assert!(!logout(&dir, "anthropic").expect("nothing to do"));
    assert_eq!(load(&dir).0.len(), 1);
}

#[cfg(unix)]
#[test]
fn the_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a folder");
    login(
        dir.path(),
        "x",
        &key("0123456789abcdef0"),
        Some(Place::File),
    )
    .expect("stored");
    let mode = std::fs::metadata(file(dir.path()))
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_broken_file_is_named_and_its_content_is_not_shown() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(file(dir.path()), "{\"x\": sk-secret-secret").expect("written");
    let (keys, problems) = load(dir.path());
    assert!(keys.is_empty());
    let fault = &problems[0];
    assert!(fault.message.contains("auth.json"), "{fault}");
    assert!(!fault.to_string().contains("secret"), "{fault}");
    assert!(login(dir.path(), "x", &key("0123456789abcdef0"), None).is_err());
}

#[test]
fn debug_output_and_masks_hide_keys() {
    let secret = key("sk-ant-0123456789abcdef");
    assert!(!format!("{secret:?}").contains("0123"));
    assert_eq!(mask(&key("short")), "…");
    assert!(login(Path::new("/nowhere"), "x", &key("  "), None).is_err());
}

#[cfg(not(feature = "keyring"))]
#[test]
fn without_a_keyring_the_file_takes_the_key_and_keyring_entries_are_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let secret = key("0123456789abcdef0");
    let kept = login(dir.path(), "x", &secret, None).expect("stored");
    assert_eq!(kept, Place::File);
    let fault = login(dir.path(), "y", &secret, Some(Place::Keyring)).expect_err("none here");
    assert!(fault.hint.contains("--store file"), "{fault}");
    let text = r#"{"x": {"key": "0123456789abcdef0"}, "z": {"store": "keyring"}}"#;
    std::fs::write(file(dir.path()), text).expect("written");
    let (keys, problems) = load(dir.path());
    assert_eq!((keys.len(), problems.len()), (1, 1));
    assert!(problems[0].message.contains("`z`"), "{}", problems[0]);
    assert!(list(dir.path()).expect("readable")[1].masked.is_err());
}

/// A keyring in memory; it stops answering when it is told to.
#[derive(Default)]
struct Memory {
    keys: std::cell::RefCell<BTreeMap<String, String>>,
    gone: std::cell::Cell<bool>,
}

impl Memory {
    fn answers(&self) -> Result<(), String> {
        if self.gone.get() {
            return Err("no keyring answers".to_owned());
        }
        Ok(())
    }
}

impl Keyring for Memory {
    fn get(&self, provider: &str) -> Result<SecretString, String> {
        self.answers()?;
        let keys = self.keys.borrow();
        keys.get(provider)
            .map(|found| key(found))
            .ok_or_else(|| "no such key".to_owned())
    }

    fn set(&self, provider: &str, key: &str) -> Result<(), String> {
        self.answers()?;
        self.keys
            .borrow_mut()
            .insert(provider.to_owned(), key.to_owned());
        Ok(())
    }

    fn remove(&self, provider: &str) -> Result<(), String> {
        self.answers()?;
        self.keys.borrow_mut().remove(provider);
        Ok(())
    }
}

#[test]
fn a_key_in_the_keyring_leaves_only_its_name_in_the_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let keyring = Memory::default();
    let secret = key("sk-test-0123456789abcdef");
    for place in [None, Some(Place::Keyring)] {
        let kept = login_with(dir.path(), "x", &secret, place, &keyring).expect("stored");
        assert_eq!(kept, Place::Keyring);
    }
    let text = std::fs::read_to_string(file(dir.path())).expect("written");
    assert!(
        text.contains("keyring") && !text.contains("0123456789"),
        "{text}"
    );
    let (keys, problems) = load_with(dir.path(), &keyring);
    assert_eq!(keys["x"].expose_secret(), "sk-test-0123456789abcdef");
    assert!(problems.is_empty());
    let listed = list_with(dir.path(), &keyring).expect("readable");
    assert_eq!(listed[0].place, Place::Keyring);
    assert_eq!(listed[0].masked.as_deref(), Ok("sk-t…cdef"));
    assert!(logout_with(dir.path(), "x", &keyring).expect("removed"));
    assert!(keyring.keys.borrow().is_empty(), "nothing stays behind");
    assert!(load_with(dir.path(), &keyring).0.is_empty());
}

#[test]
fn a_key_that_moves_to_the_file_does_not_stay_in_the_keyring() {
    let dir = tempfile::tempdir().expect("a folder");
    let keyring = Memory::default();
    login_with(
        dir.path(),
        "x",
        &key("sk-old-0123456789abcdef"),
        None,
        &keyring,
    )
    .expect("stored");
    let new = key("sk-new-0123456789abcdef");
    let kept = login_with(dir.path(), "x", &new, Some(Place::File), &keyring).expect("stored");
    assert_eq!(kept, Place::File);
    assert!(keyring.keys.borrow().is_empty());
    let (keys, _) = load_with(dir.path(), &keyring);
    assert_eq!(keys["x"].expose_secret(), "sk-new-0123456789abcdef");
}

#[test]
fn a_keyring_that_stops_answering_loses_no_key_and_is_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let keyring = Memory::default();
    let secret = key("sk-test-0123456789abcdef");
    login_with(dir.path(), "x", &secret, None, &keyring).expect("stored");
    keyring.gone.set(true);
    let (keys, problems) = load_with(dir.path(), &keyring);
    assert!(keys.is_empty());
    let fault = problems[0].to_string();
    assert!(
        fault.contains("`x`") && fault.contains("--store file"),
        "{fault}"
    );
    assert!(
        list_with(dir.path(), &keyring).expect("readable")[0]
            .masked
            .is_err()
    );
    // it is not forgotten as long as it may still be there
    logout_with(dir.path(), "x", &keyring).expect_err("the key stays");
    assert_eq!(list_with(dir.path(), &keyring).expect("readable").len(), 1);
    login_with(dir.path(), "y", &secret, Some(Place::Keyring), &keyring).expect_err("told");
    let kept = login_with(dir.path(), "y", &secret, None, &keyring).expect("in the file");
    assert_eq!(kept, Place::File);
}
