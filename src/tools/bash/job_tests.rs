//! Background jobs, and what is said and asked when the sandbox stopped a command.

use super::*;

#[tokio::test]
async fn a_background_job_is_watched_and_killed() {
    let world = world();
    let home = world.dir.path().to_owned();
    let marker = world.dir.path().join("go");
    let command = format!(
        "echo one; until [ -e {} ]; do sleep 0.02; done; echo two; sleep 2109876",
        marker.display()
    );
    let done = world
        .run(json!({"command": command, "background": "true"}))
        .await
        .expect("started");
    assert!(
        done.output.contains("job-1") && done.output.contains("Output so far:\none\n"),
        "{}",
        done.output
    );
    let look = BashOutput::new(Arc::clone(&world.jobs), Blocking::default());
    let output = |input: serde_json::Value| look.run(input, world.context.clone());
    let nothing = output(json!({"job": "job-1"})).await.expect("there");
    assert_eq!(nothing.output, "(job-1 is still running; no new output)");
    fs::write(&marker, "").expect("the marker");
    let news = output(json!({"id": "1", "wait": 20_000}))
        .await
        .expect("there");
    assert_eq!(news.output, "(job-1 is still running)\ntwo\n");
    let file = world.jobs.of(world.session())[0]
        .file()
        .expect("a file")
        .clone();
    assert_eq!(fs::read_to_string(file).expect("readable"), "one\ntwo\n");
    let kill = Kill::new(Arc::clone(&world.jobs));
    let killed = kill
        .run(json!({"job": "job-1"}), world.context.clone())
        .await
        .expect("killed");
    assert_eq!(
        killed.output,
        "job-1 was killed.\nIts last output:\none\ntwo"
    );
    assert!(gone(&home, "2109876").await);
    let missing = output(json!({"job": "job-9"}))
        .await
        .expect_err("no such job");
    assert_eq!(
        missing.message,
        "There is no job `job-9`. The jobs are: job-1."
    );
}

#[tokio::test]
async fn a_background_job_that_fails_at_once_is_reported_at_once() {
    let world = world();
    let done = world
        .run(json!({"command": "echo port taken; exit 98", "background": true}))
        .await
        .expect("started");
    assert!(
        done.output
            .starts_with("The command ended with exit code 98 at once (job-1)."),
        "{}",
        done.output
    );
    assert!(done.output.ends_with("port taken\n"));
    assert_eq!(done.metadata["exit"], json!(98));
}

#[tokio::test]
async fn jobs_die_with_their_session_and_with_the_program() {
    let world = world();
    let home = world.dir.path().to_owned();
    world
        .run(json!({"command": "sleep 1098761", "background": true}))
        .await
        .expect("started");
    world.jobs.stop_session(world.session());
    assert!(gone(&home, "1098761").await);
    world
        .run(json!({"command": "sleep 1098762", "background": true}))
        .await
        .expect("started");
    until(|| alive(&home, "1098762")).await;
    let World { jobs, bash, .. } = world;
    drop((jobs, bash));
    assert!(gone(&home, "1098762").await);
}

#[derive(Debug)]
struct Marked;

impl CommandWrapper for Marked {
    fn wrap(
        &self,
        confine: Confine,
        program: &std::ffi::OsStr,
        args: &[std::ffi::OsString],
    ) -> (std::ffi::OsString, Vec<std::ffi::OsString>) {
        let wrapped = match confine {
            Confine::By(_) => "WRAPPED=yes",
            Confine::Not => "WRAPPED=no",
        };
        let mut words = vec![wrapped.into(), program.to_owned()];
        words.extend(args.iter().cloned());
        ("env".into(), words)
    }

    fn explain(
        &self,
        confine: Confine,
        _cwd: &Path,
        exit: Option<i32>,
        _output: &str,
    ) -> Option<Blocked> {
        (exit != Some(0) && confine != Confine::Not).then(|| Blocked {
            kind: "write",
            sentence: "It was blocked by the sandbox.".to_owned(),
        })
    }
}

/// A user who gives this answer, and notes what was asked.
#[derive(Debug)]
struct User {
    answer: Option<Answer>,
    asked: std::sync::Mutex<Vec<AskBody>>,
}

impl AskUser for User {
    fn ask(&self, _part: PartId, body: AskBody) -> BoxFuture<'static, Option<Answer>> {
        self.asked.lock().expect("unpoisoned").push(body);
        let answer = self.answer.clone();
        Box::pin(async move { answer })
    }
}

/// Runs a command that the sandbox stops in this mode; returns its result and what was asked.
async fn blocked(mode: Mode, answer: Option<Answer>) -> (Success, Vec<AskBody>) {
    let mut world = world_with(Some(Arc::new(Marked)));
    let user = Arc::new(User {
        answer,
        asked: std::sync::Mutex::default(),
    });
    world.context.mode = mode;
    world.context.ask = Some(Arc::clone(&user) as Arc<dyn AskUser>);
    let done = world
        .command("echo ran >> runs; echo $WRAPPED; [ $WRAPPED = no ]")
        .await;
    let asked = user.asked.lock().expect("unpoisoned").clone();
    let runs = fs::read_to_string(world.context.workspace.root().join("runs")).expect("it ran");
    let again = usize::from(done.metadata["sandbox"]["without"] == json!(true));
    assert_eq!(runs.lines().count(), 1 + again);
    (done, asked)
}

#[tokio::test]
async fn what_the_sandbox_stopped_may_run_once_without_it_if_the_user_says_so() {
    let (done, asked) = blocked(Mode::Auto, Some(Answer::Once)).await;
    assert!(done.output.starts_with("no\n"), "{}", done.output);
    assert!(done.output.contains("allowed it once"), "{}", done.output);
    assert_eq!(done.metadata["exit"], 0);
    assert_eq!(
        done.metadata["sandbox"],
        json!({"blocked": "write", "without": true})
    );
    let [
        AskBody::Permission {
            subject,
            pattern,
            dangerous,
            sees,
            ..
        },
    ] = asked.as_slice()
    else {
        panic!("asked once: {asked:?}");
    };
    assert!(subject.starts_with("echo ran"), "{subject}");
    assert!(pattern.is_none() && *dangerous);
    assert_eq!(sees[0], "It was blocked by the sandbox.");
}

#[tokio::test]
async fn a_no_leaves_what_the_sandbox_stopped_as_it_is_and_the_model_is_told() {
    let message = "use the worktree".to_owned();
    let (done, asked) = blocked(Mode::Ask, Some(Answer::No { message })).await;
    assert!(done.output.starts_with("yes\n"), "{}", done.output);
    assert!(
        done.output.contains("says: use the worktree"),
        "{}",
        done.output
    );
    assert_eq!((done.metadata["exit"].clone(), asked.len()), (json!(1), 1));
}

#[tokio::test]
async fn nothing_leaves_the_sandbox_in_plan_mode() {
    let (done, asked) = blocked(Mode::Plan, Some(Answer::Once)).await;
    assert!(done.output.starts_with("yes\n"), "{}", done.output);
    assert!(asked.is_empty());
}

#[tokio::test]
async fn a_wrapper_prepares_the_command_and_explains_its_end() {
    let world = world_with(Some(Arc::new(Marked)));
    assert_eq!(world.command("echo $WRAPPED").await.output, "yes\n");
    let done = world.command("exit 7").await;
    assert_eq!(
        done.output,
        "(Exit code 7)\n\n(It was blocked by the sandbox. Nobody could be asked to allow it without \
         the sandbox. Find another way, or say what you need.)"
    );
}

#[tokio::test]
async fn access_names_the_command_and_the_folder() {
    let world = world();
    let input = json!({"command": "cargo test\nls", "description": "Test"});
    let access = world.bash.access(&input, &world.context).expect("fine");
    assert_eq!(
        (
            access.title.as_str(),
            access.says.as_str(),
            access.can_write
        ),
        ("cargo test …", "Test", true)
    );
    let cwd = world.context.workspace.root().to_owned();
    assert_eq!(
        access.needs,
        [crate::tools::Need::Command {
            command: "cargo test\nls".to_owned(),
            cwd
        }]
    );
}
