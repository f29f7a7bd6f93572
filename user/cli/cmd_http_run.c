/* SPDX-License-Identifier: MIT */
/* weir http run: nginx with the module, on a configuration of our own, as long as we live. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/http_conf.h"

#define MODULE_NAME  "ngx_http_weir_module.so"
#define MODULES_PATH "/usr/lib/nginx/modules"
#define SBIN_PATH    "/usr/local/sbin:/usr/sbin:/sbin" /* not in a plain user's PATH */
#define REMOVE_FILES 16                                /* descriptors while removing */

/* nginx forgets to end if it is told between its first signal handler and its first wait. */
static const struct timespec again_after = {.tv_nsec = 500000000};

enum { LISTEN, UPSTREAM, LIMIT, MODULE, PRINT };

static const struct argument_spec options[] = {
	[LISTEN] = {.name = "listen",
		    .value = "ADDR",
		    .summary = "where requests come in: 127.0.0.1:8080, [::1]:8080,\n"
			       "*:8080, or unix:/PATH behind a proxy, whose\n"
			       "X-Forwarded-For then names the client",
		    .kind = VALUE_TEXT,
		    .required = true},
	[UPSTREAM] = {.name = "upstream",
		      .value = "ADDR",
		      .summary = "the application that answers them: 127.0.0.1:3000,\n"
				 "[::1]:3000, name:3000 or unix:/PATH",
		      .kind = VALUE_TEXT,
		      .required = true},
	[LIMIT] = {.name = "limit",
		   .value = "LIMIT",
		   .summary = "'PREFIX CAPACITY RATE': how many requests a client can make\n"
			      "at once below a path, and how fast they come back; the\n"
			      "longest prefix counts. Its zone is named after the path:\n"
			      "/login is login, /a/b is a-b, / is root",
		   .kind = VALUE_TEXT,
		   .required = true,
		   .many = true},
	[MODULE] = {.name = "module",
		    .value = "PATH",
		    .summary = "the nginx module; otherwise " MODULE_NAME "\n"
			       "beside this program or in " MODULES_PATH,
		    .kind = VALUE_TEXT},
	[PRINT] = {.name = "print", .summary = "print the configuration and run nothing"},
	{.name = NULL},
};

/* What nginx runs on: all paths are absolute. */
struct front {
	char program[PATH_MAX];
	char module[PATH_MAX];
	char directory[PATH_MAX]; /* empty while there is none */
	char configuration[PATH_MAX];
	sigset_t signals; /* blocked, and waited for */
	sigset_t signals_before;
	struct http_conf conf;
};

typedef int setter(struct http_conf *conf, const char *text, struct failure *why);

static setter *const setters[] = {
	[LISTEN] = http_conf_set_listen,
	[UPSTREAM] = http_conf_set_upstream,
	[LIMIT] = http_conf_add_limit,
};

/* An exit status. */
static int conf_read(const struct arguments *arguments, struct http_conf *conf)
{
	for (size_t i = LISTEN; i <= LIMIT; i++) {
		const struct argument *argument = &arguments->options[i];
		struct failure why;

		for (size_t at = 0; at < argument->times; at++) {
			if (setters[i](conf, argument->texts[at], &why))
				return misuse(arguments->command, "cannot use '%s' for --%s: %s",
					      argument->texts[at], options[i].name, why.reason);
		}
	}
	return EXIT_DONE;
}

/* As many bytes as fit are in path even where it is false. */
static bool path_join(char path[PATH_MAX], const char *directory, size_t length, const char *name)
{
	return snprintf(path, PATH_MAX, "%.*s/%s", (int)length, directory, name) < PATH_MAX;
}

static bool path_search(const char *list, const char *name, char ret[PATH_MAX])
{
	for (size_t length; list && *list; list += length + (list[length] == ':')) {
		length = strcspn(list, ":");
		if (list[0] == '/' && path_join(ret, list, length, name) && !access(ret, X_OK))
			return true;
	}
	return false;
}

static int program_find(struct front *front, struct failure *why)
{
	if (path_search(getenv("PATH"), "nginx", front->program) ||
	    path_search(SBIN_PATH, "nginx", front->program))
		return 0;
	failure_set(why, ENOENT, "it is not installed");
	failure_hint(why, "apt install nginx-light, or set PATH to where nginx is");
	return -ENOENT;
}

static bool module_is_beside_us(char ret[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	char *slash;

	if (length < 0)
		return false;
	ret[length] = '\0';
	slash = strrchr(ret, '/');
	if (!slash || (size_t)(slash + 1 - ret) + sizeof(MODULE_NAME) > PATH_MAX)
		return false;
	memcpy(slash + 1, MODULE_NAME, sizeof(MODULE_NAME));
	return !access(ret, R_OK);
}

static bool module_is_at(const char *path, char ret[PATH_MAX])
{
	return realpath(path, ret) && !access(ret, R_OK);
}

static int module_find(struct front *front, const struct argument *given, struct failure *why)
{
	const char *path = given->given ? given->text : MODULES_PATH "/" MODULE_NAME;
	int err;

	if (!given->given && module_is_beside_us(front->module))
		return 0;
	if (module_is_at(path, front->module))
		return 0;
	err = errno;
	failure_set(why, err, "%s%s", strerror(err),
		    given->given ? "" : ", neither beside weir nor in " MODULES_PATH);
	failure_hint(why, "'make install-module' puts it in nginx's directory of modules; "
			  "--module PATH names another place");
	return -err;
}

/* Debian's user for web servers, elsewhere the one that owns nothing. */
static int user_find(struct http_conf *conf, struct failure *why)
{
	const struct passwd *user = getpwnam("www-data");
	const struct group *group;

	if (geteuid())
		return 0;
	if (!user)
		user = getpwnam("nobody");
	group = user ? getgrgid(user->pw_gid) : NULL;
	if (!group)
		return failure_set(why, ENOENT, "there is no user www-data or nobody for workers");
	conf->user = user->pw_name;
	conf->group = group->gr_name;
	return 0;
}

/* In memory where that can be, as zones are written all the time. */
static const char *directory_base(void)
{
	const char *base = geteuid() ? getenv("XDG_RUNTIME_DIR") : "/run";

	if (base && base[0] == '/' && !access(base, W_OK))
		return base;
	base = getenv("TMPDIR");
	return base && base[0] == '/' ? base : "/tmp";
}

/* Without symbolic links, which the module refuses on the way to zones. */
static int directory_make(struct front *front, struct failure *why)
{
	char base[PATH_MAX];
	int err;

	front->conf.directory = front->directory;
	if (realpath(directory_base(), base) &&
	    path_join(front->directory, base, PATH_MAX, "weir-http-XXXXXX") &&
	    mkdtemp(front->directory))
		return 0;
	err = errno;
	front->directory[0] = '\0';
	return failure_set(why, err, "no directory of its own in '%s': %s", directory_base(),
			   strerror(err));
}

static int entry_remove(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)status;
	(void)kind;
	(void)place;
	return remove(path);
}

static void directory_remove(const struct front *front)
{
	if (front->directory[0] &&
	    nftw(front->directory, entry_remove, REMOVE_FILES, FTW_DEPTH | FTW_PHYS))
		notice("'%s' is left behind: %s", front->directory, strerror(errno));
}

static int configuration_write(struct front *front, struct failure *why)
{
	FILE *out = NULL;
	int err = 0;

	if (path_join(front->configuration, front->directory, PATH_MAX, "nginx.conf"))
		out = fopen(front->configuration, "wxe");
	if (!out)
		return failure_set(why, errno, "no file '%s': %s", front->configuration,
				   strerror(errno));
	http_conf_write(&front->conf, out);
	if (ferror(out))
		err = -EIO;
	if (fclose(out))
		err = -errno;
	return err ? failure_set(why, err, "'%s' cannot be written: %s", front->configuration,
				 strerror(-err))
		   : 0;
}

static int front_prepare(struct front *front, struct failure *why)
{
	int err = user_find(&front->conf, why);

	if (!err)
		err = directory_make(front, why);
	if (!err)
		err = configuration_write(front, why);
	return err;
}

/* What is sent to us is nginx's, or ends us with nothing left behind: so it waits from before there
 * is a directory until there is an nginx. */
static void signals_block(struct front *front)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGCHLD};

	sigemptyset(&front->signals);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&front->signals, numbers[i]);
	sigprocmask(SIG_BLOCK, &front->signals, &front->signals_before);
	/* Whoever ignored it before us would have our child vanish unseen. */
	signal(SIGCHLD, SIG_DFL);
}

/* In the child; does not return. The master ends its workers on SIGTERM; on SIGKILL they would
 * stay. */
static void nginx_exec(struct front *front, pid_t parent)
{
	char *const words[] = {front->program,       "-p", front->directory, "-c",
			       front->configuration, "-g", "daemon off;",    NULL};
	struct failure why;

	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent)
		_exit(EXIT_FAILED);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &front->signals_before, NULL);
	execv(front->program, words);
	failure_errno(&why, errno);
	_exit(failed(&why, "run '%s'", front->program));
}

static bool terminal_is_there(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* A terminal that is gone means the end; from anybody else, the signal means to reload. */
static int signal_for_nginx(int number, bool had_terminal)
{
	if (number == SIGHUP && had_terminal && !terminal_is_there())
		return SIGTERM;
	return number;
}

/* The next signal sent to us, SIGCHLD among them; after a while without one, again. */
static int signal_await(const sigset_t *signals, int again)
{
	int number = again ? sigtimedwait(signals, NULL, &again_after) : sigwaitinfo(signals, NULL);

	return number < 0 ? again : number;
}

static bool signal_is_the_end(int number)
{
	return number == SIGTERM || number == SIGINT || number == SIGQUIT;
}

/* Until nginx has ended. An exit status. */
static int nginx_attend(const struct front *front, pid_t nginx)
{
	bool had_terminal = terminal_is_there();
	int end = 0, status;

	while (waitpid(nginx, &status, WNOHANG) != nginx) {
		int number = signal_for_nginx(signal_await(&front->signals, end), had_terminal);

		if (signal_is_the_end(number))
			end = number;
		if (number && number != SIGCHLD)
			kill(nginx, number);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int nginx_run(struct front *front, struct failure *why)
{
	pid_t parent = getpid(), nginx = fork();

	if (nginx < 0)
		return failure_errno(why, errno);
	if (!nginx)
		nginx_exec(front, parent);
	return nginx_attend(front, nginx);
}

/* For a configuration of one's own: without a directory of ours, and wherever the module is. */
static int conf_print(const struct http_conf *conf, enum report_format format)
{
	struct report *report;
	char *text = NULL;
	size_t size;
	FILE *out;

	if (format == REPORT_TEXT) {
		http_conf_write(conf, stdout);
		return output_finish();
	}
	report = report_new(REPORT_JSON);
	out = open_memstream(&text, &size);
	if (out) {
		http_conf_write(conf, out);
		fclose(out);
	}
	report_string(report, "configuration", text);
	free(text);
	return report_finish(report);
}

static int front_print(struct front *front, const struct arguments *arguments)
{
	struct failure why;

	if (module_find(front, &arguments->options[MODULE], &why))
		front->conf.module = arguments->options[MODULE].given
					     ? arguments->options[MODULE].text
					     : "modules/" MODULE_NAME;
	if (user_find(&front->conf, &why))
		return failed(&why, "print a configuration");
	return conf_print(&front->conf, arguments->format);
}

static int front_run(struct front *front, const struct arguments *arguments)
{
	const struct argument *module = &arguments->options[MODULE];
	struct failure why;
	int status;

	if (program_find(front, &why))
		return failed(&why, "run nginx");
	if (module_find(front, module, &why))
		return failed(&why, "use the module '%s'",
			      module->given ? module->text : MODULE_NAME);
	signals_block(front);
	status = front_prepare(front, &why);
	if (!status) {
		notice("starting nginx on %s; its zones: weir http zones --dir '%s/%s'",
		       front->conf.listen, front->directory, HTTP_CONF_ZONES);
		status = nginx_run(front, &why);
	}
	directory_remove(front);
	return status < 0 ? failed(&why, "run nginx") : status;
}

static int run(const struct arguments *arguments)
{
	bool is_print = arguments->options[PRINT].given;
	struct front front = {.conf = {.listen = ""}};
	int status = conf_read(arguments, &front.conf);

	front.conf.module = front.module;
	if (status)
		return status;
	if (is_print)
		return front_print(&front, arguments);
	if (arguments->format == REPORT_JSON)
		return misuse(arguments->command, "cannot use '--json': only --print prints");
	return front_run(&front, arguments);
}

const struct command command_http_run = {
	.name = "http run",
	.summary = "run nginx in front of an application, with limits",
	.description =
		"Writes an nginx configuration for what the options say and runs nginx on it in\n"
		"the foreground, as root or not; it ends with this command. SIGHUP brings new\n"
		"workers and looks up the application's name again, SIGQUIT lets requests finish\n"
		"first. A limit is for each client address, of IPv6 for each /64; over it a\n"
		"client gets 429 with Retry-After. What clients owe is forgotten at the end: an\n"
		"nginx of your own keeps it (--print is a start).",
	.examples = "weir http run --listen 127.0.0.1:8080 --upstream 127.0.0.1:3000 \\\n"
		    "    --limit '/login 5 1/s' --limit '/ 100 20/s'\n"
		    "weir http run --listen '*:80' --upstream unix:/run/app.sock \\\n"
		    "    --limit '/ 100 20/s' --print > nginx.conf\n",
	.options = options,
	.run = run,
};
