/*
 * A PKCS#11 module that forwards every call to a real one, and fails, waits, hangs or lies on request.
 *
 * A file next to it controls what it does: the path of this library plus ".control". The file is mapped, so a test
 * can change it at any time and read the counters in it. Its layout is in ../src/pkcs11-shim.ts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CK_PTR *
#define CK_DECLARE_FUNCTION(type, name) type name
#define CK_DECLARE_FUNCTION_POINTER(type, name) type(*name)
#define CK_CALLBACK_FUNCTION(type, name) type(*name)
#ifndef NULL_PTR
#define NULL_PTR 0
#endif
#include "pkcs11/pkcs11.h"

enum function {
  F_SIGN, F_SIGN_INIT, F_OPEN_SESSION, F_LOGIN, F_FIND, F_ATTRIBUTE, F_INITIALIZE, F_FINALIZE, F_CLOSE_SESSION,
  F_LOGOUT, F_CLOSE_ALL, F_SLOT_LIST, F_TOKEN_INFO, F_SESSION_INFO, F_SLOT_INFO, F_INFO,
  FUNCTIONS = 16
};

enum { TAMPER_NONE, TAMPER_FLIP, TAMPER_ZERO_R, TAMPER_SHORT, TAMPER_OTHER_DIGEST, TAMPER_EMPTY };
enum { POINT_AS_IS, POINT_UNWRAPPED, POINT_BARE };
enum strike { STRIKE_CLOSE_ALL, STRIKE_LOGOUT, STRIKE_FINALIZE, STRIKES };

#define LOGGED 65536
#define SLOTS 8
typedef _Atomic int64_t cell;

struct control {
  cell delay_us[FUNCTIONS];
  cell fail_every[FUNCTIONS];
  cell fail_code[FUNCTIONS];
  cell calls[FUNCTIONS];
  cell hang_next[FUNCTIONS];
  cell fail_left[FUNCTIONS]; /* failures to come, negative for no end */
  cell release;            /* changes: hung calls go on */
  cell serial;             /* one C_Sign at a time */
  cell tamper;
  cell crash;              /* abort() in C_Sign */
  cell token_flags;        /* added to those of the token */
  cell max_sessions;       /* instead of the token's, unless 0 */
  cell hide_objects;       /* searches find nothing */
  cell point_form;         /* of CKA_EC_POINT */
  cell strike[STRIKES];    /* changes: each instance meets it before its next call */
  cell slot_base;          /* number of the first slot, unless 0: the tokens then are in slots of these numbers, by label */
  cell slots_swapped;      /* the first two of those tokens have changed places */
  cell flags_removed;      /* from those of the token */
  cell fail_attribute;     /* C_GetAttributeValue fails for this one alone: its type and 1, 0 for all */
  cell fail_class;         /* C_FindObjectsInit fails for this class alone: its number and 1, 0 for all */
  cell in_flight;          /* calls of C_Sign that are running */
  cell max_in_flight;
  cell hung;               /* calls that hang now */
  cell initialize_flags;   /* of the last C_Initialize */
  cell open_sessions;
  cell finalize_in_flight; /* most calls of C_Sign running at a C_Finalize */
  cell logins[SLOTS];      /* calls of C_Login, by the place of the token among the labels */
  char padding[1024 - (6 * FUNCTIONS + 22 + SLOTS) * 8];
  char module[3072];       /* path of the real module */
  unsigned char digests[LOGGED][32]; /* of each C_Sign, in order */
};

/* p11-kit's client makes an instance of itself at each C_GetFunctionList. pkcs11js calls it once in the thread that uses
 * the instance, so the thread tells which one is meant. Of other modules there is one, for all threads. */
struct instance {
  CK_FUNCTION_LIST_PTR real;
  int64_t struck[STRIKES];
  int64_t open_sessions;
  CK_SLOT_ID slot;           /* of the last session */
  CK_SESSION_HANDLE session; /* the last one opened */
};
static __thread struct instance here;
static CK_FUNCTION_LIST list;
static CK_FUNCTION_LIST_PTR first;
static bool many_instances;
static CK_C_GetFunctionList get_real;
static struct control *control;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER, serial = PTHREAD_MUTEX_INITIALIZER;
/* SoftHSM, NSS and tpm2-pkcs11 free memory that other threads are using. Tests that close them or finalize under signers
 * need a module that waits for running calls, as a module with internal locks does. */
static pthread_rwlock_t calls_running = PTHREAD_RWLOCK_INITIALIZER;

static void nap(int64_t us) {
  struct timespec t = {us / 1000000, (us % 1000000) * 1000};
  while (us > 0 && nanosleep(&t, &t) != 0) {}
}

static void keep_maximum(cell *most, int64_t value) {
  int64_t before = atomic_load(most);
  while (before < value && !atomic_compare_exchange_weak(most, &before, value)) {}
}

static CK_FUNCTION_LIST_PTR real(void) { return here.real ? here.real : first; }

static void count_session(int64_t difference) {
  here.open_sessions += difference;
  atomic_fetch_add(&control->open_sessions, difference);
}

static void forget_sessions(void) {
  if (many_instances) atomic_fetch_sub(&control->open_sessions, here.open_sessions);
  else atomic_store(&control->open_sessions, 0);
  here.open_sessions = 0;
}

/* What other code that had hold of this thread's instance would do to it. */
static void be_struck(void) {
  for (enum strike kind = 0; kind < STRIKES; kind++) {
    int64_t now = atomic_load(&control->strike[kind]);
    if (here.struck[kind] == now) continue;
    here.struck[kind] = now;
    if (kind == STRIKE_LOGOUT) real()->C_Logout(here.session);
    else if (kind == STRIKE_CLOSE_ALL ? real()->C_CloseAllSessions(here.slot) == CKR_OK : real()->C_Finalize(NULL) == CKR_OK)
      forget_sessions();
  }
}

/* Counts, waits, hangs and fails: what every function has in common. CKR_OK means: go on. */
static CK_RV enter_unless(enum function f, bool spared) {
  if (many_instances) be_struck();
  int64_t call = atomic_fetch_add(&control->calls[f], 1) + 1;
  nap(atomic_load(&control->delay_us[f]));
  if (atomic_load(&control->hang_next[f]) > 0 && atomic_fetch_sub(&control->hang_next[f], 1) > 0) {
    int64_t generation = atomic_load(&control->release);
    atomic_fetch_add(&control->hung, 1);
    while (atomic_load(&control->release) == generation) nap(2000);
    atomic_fetch_sub(&control->hung, 1);
  }
  int64_t every = atomic_load(&control->fail_every[f]);
  if (spared || every <= 0 || call % every != 0) return CKR_OK;
  int64_t left = atomic_load(&control->fail_left[f]);
  while (left > 0 && !atomic_compare_exchange_weak(&control->fail_left[f], &left, left - 1)) {}
  return left == 0 ? CKR_OK : (CK_RV)atomic_load(&control->fail_code[f]);
}

static CK_RV enter(enum function f) { return enter_unless(f, false); }

static CK_RV leave(CK_RV rv) {
  pthread_rwlock_unlock(&calls_running);
  return rv;
}

#define SHARED(call) (pthread_rwlock_rdlock(&calls_running), leave(call))
#define ALONE(call) (pthread_rwlock_wrlock(&calls_running), leave(call))
#define ENTER(f) do { CK_RV entered = enter(f); if (entered != CKR_OK) return entered; } while (0)

static CK_RV my_initialize(CK_VOID_PTR arguments) {
  if (arguments) atomic_store(&control->initialize_flags, (int64_t)((CK_C_INITIALIZE_ARGS_PTR)arguments)->flags);
  ENTER(F_INITIALIZE);
  return SHARED(real()->C_Initialize(arguments));
}

static CK_RV my_finalize(CK_VOID_PTR reserved) {
  keep_maximum(&control->finalize_in_flight, atomic_load(&control->in_flight));
  ENTER(F_FINALIZE);
  CK_RV rv = ALONE(real()->C_Finalize(reserved));
  if (rv == CKR_OK) forget_sessions();
  return rv;
}

/* The real slots of the initialized tokens, by their labels. The caller holds the lock. */
static CK_ULONG token_slots(CK_SLOT_ID *out, bool swapped) {
  CK_SLOT_ID all[64];
  CK_ULONG listed = 64, count = 0;
  unsigned char labels[SLOTS][32];
  if (real()->C_GetSlotList(CK_TRUE, all, &listed) != CKR_OK) return 0;
  for (CK_ULONG i = 0; i < listed && count < SLOTS; i++) {
    CK_TOKEN_INFO info;
    if (real()->C_GetTokenInfo(all[i], &info) != CKR_OK || !(info.flags & CKF_TOKEN_INITIALIZED)) continue;
    CK_ULONG place = count++;
    for (; place > 0 && memcmp(labels[place - 1], info.label, 32) > 0; place--) {
      memcpy(labels[place], labels[place - 1], 32);
      out[place] = out[place - 1];
    }
    memcpy(labels[place], info.label, 32);
    out[place] = all[i];
  }
  if (count > 1 && swapped) {
    CK_SLOT_ID first_slot = out[0];
    out[0] = out[1];
    out[1] = first_slot;
  }
  return count;
}

/* The real slot that a slot of the application stands for. The caller holds the lock. */
static CK_SLOT_ID real_slot(CK_SLOT_ID slot) {
  CK_SLOT_ID base = (CK_SLOT_ID)atomic_load(&control->slot_base), slots[SLOTS];
  if (base == 0) return slot;
  CK_ULONG count = token_slots(slots, atomic_load(&control->slots_swapped));
  return slot - base < count ? slots[slot - base] : (CK_SLOT_ID)-1;
}

static CK_RV list_slots(CK_BBOOL present, CK_SLOT_ID_PTR out, CK_ULONG_PTR count) {
  CK_SLOT_ID base = (CK_SLOT_ID)atomic_load(&control->slot_base), slots[SLOTS];
  if (base == 0) return real()->C_GetSlotList(present, out, count);
  CK_ULONG room = *count;
  *count = token_slots(slots, atomic_load(&control->slots_swapped));
  if (!out) return CKR_OK;
  if (room < *count) return CKR_BUFFER_TOO_SMALL;
  for (CK_ULONG i = 0; i < *count; i++) out[i] = base + i;
  return CKR_OK;
}

/* Which token a login is for. The caller holds the lock. */
static void count_login(CK_SESSION_HANDLE session) {
  CK_SLOT_ID slots[SLOTS];
  CK_SESSION_INFO info;
  if (atomic_load(&control->slot_base) == 0 || real()->C_GetSessionInfo(session, &info) != CKR_OK) return;
  CK_ULONG count = token_slots(slots, false);
  for (CK_ULONG i = 0; i < count; i++) {
    if (slots[i] == info.slotID) atomic_fetch_add(&control->logins[i], 1);
  }
}

static CK_RV my_get_slot_list(CK_BBOOL present, CK_SLOT_ID_PTR slots, CK_ULONG_PTR count) {
  ENTER(F_SLOT_LIST);
  return SHARED(list_slots(present, slots, count));
}

/* It tells instances apart, and so is called of one after another was made: each further instance keeps its own. */
static CK_RV my_get_info(CK_INFO_PTR info) {
  ENTER(F_INFO);
  return SHARED(first->C_GetInfo(info));
}

static CK_RV my_get_slot_info(CK_SLOT_ID slot, CK_SLOT_INFO_PTR info) {
  ENTER(F_SLOT_INFO);
  return SHARED(real()->C_GetSlotInfo(real_slot(slot), info));
}

static CK_RV my_get_token_info(CK_SLOT_ID slot, CK_TOKEN_INFO_PTR info) {
  ENTER(F_TOKEN_INFO);
  CK_RV rv = SHARED(real()->C_GetTokenInfo(real_slot(slot), info));
  if (rv != CKR_OK) return rv;
  info->flags |= (CK_FLAGS)atomic_load(&control->token_flags);
  info->flags &= ~(CK_FLAGS)atomic_load(&control->flags_removed);
  int64_t most = atomic_load(&control->max_sessions);
  if (most > 0) info->ulMaxSessionCount = (CK_ULONG)most;
  return CKR_OK;
}

static CK_RV my_open_session(CK_SLOT_ID slot, CK_FLAGS flags, CK_VOID_PTR data, CK_NOTIFY notify, CK_SESSION_HANDLE_PTR session) {
  ENTER(F_OPEN_SESSION);
  int64_t most = atomic_load(&control->max_sessions);
  if (most > 0 && atomic_load(&control->open_sessions) >= most) return CKR_SESSION_COUNT;
  CK_SLOT_ID behind = 0;
  CK_RV rv = SHARED(real()->C_OpenSession(behind = real_slot(slot), flags, data, notify, session));
  if (rv != CKR_OK) return rv;
  count_session(1);
  here.slot = behind;
  here.session = *session;
  return rv;
}

static CK_RV my_close_session(CK_SESSION_HANDLE session) {
  ENTER(F_CLOSE_SESSION);
  CK_RV rv = SHARED(real()->C_CloseSession(session));
  if (rv == CKR_OK) count_session(-1);
  return rv;
}

static CK_RV my_close_all_sessions(CK_SLOT_ID slot) {
  ENTER(F_CLOSE_ALL);
  CK_RV rv = ALONE(real()->C_CloseAllSessions(real_slot(slot)));
  if (rv == CKR_OK) forget_sessions();
  return rv;
}

static CK_RV my_get_session_info(CK_SESSION_HANDLE session, CK_SESSION_INFO_PTR info) {
  ENTER(F_SESSION_INFO);
  return SHARED(real()->C_GetSessionInfo(session, info));
}

static CK_RV my_login(CK_SESSION_HANDLE session, CK_USER_TYPE user, CK_UTF8CHAR_PTR pin, CK_ULONG length) {
  ENTER(F_LOGIN);
  return SHARED((count_login(session), real()->C_Login(session, user, pin, length)));
}

static CK_RV my_logout(CK_SESSION_HANDLE session) {
  ENTER(F_LOGOUT);
  return ALONE(real()->C_Logout(session));
}

static CK_RV my_find_objects_init(CK_SESSION_HANDLE session, CK_ATTRIBUTE_PTR template, CK_ULONG count) {
  int64_t only = atomic_load(&control->fail_class);
  bool has_class = count > 0 && template->type == CKA_CLASS && template->ulValueLen == sizeof(CK_OBJECT_CLASS);
  CK_RV entered = enter_unless(F_FIND, only != 0 && (!has_class || *(CK_OBJECT_CLASS *)template->pValue + 1 != (CK_ULONG)only));
  if (entered != CKR_OK) return entered;
  return SHARED(real()->C_FindObjectsInit(session, template, count));
}

static CK_RV my_find_objects(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE_PTR objects, CK_ULONG most, CK_ULONG_PTR count) {
  CK_RV rv = SHARED(real()->C_FindObjects(session, objects, most, count));
  if (rv == CKR_OK && atomic_load(&control->hide_objects)) *count = 0;
  return rv;
}

static CK_RV my_find_objects_final(CK_SESSION_HANDLE session) {
  return SHARED(real()->C_FindObjectsFinal(session));
}

static CK_RV my_get_attribute_value(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object, CK_ATTRIBUTE_PTR a, CK_ULONG count) {
  int64_t only = atomic_load(&control->fail_attribute);
  CK_RV entered = enter_unless(F_ATTRIBUTE, only != 0 && (count == 0 || a->type + 1 != (CK_ULONG)only));
  if (entered != CKR_OK) return entered;
  CK_RV rv = SHARED(real()->C_GetAttributeValue(session, object, a, count));
  int64_t form = atomic_load(&control->point_form);
  if (rv != CKR_OK || form == POINT_AS_IS || count != 1 || a->type != CKA_EC_POINT || a->ulValueLen < 67) return rv;
  CK_ULONG skipped = form == POINT_UNWRAPPED ? 2 : 3;
  if (a->pValue) memmove(a->pValue, (unsigned char *)a->pValue + skipped, 67 - skipped);
  if (a->pValue) a->ulValueLen = 67 - skipped;
  return rv;
}

static CK_RV my_sign_init(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism, CK_OBJECT_HANDLE key) {
  ENTER(F_SIGN_INIT);
  return SHARED(real()->C_SignInit(session, mechanism, key));
}

static CK_RV sign(CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG length, CK_BYTE_PTR out, CK_ULONG_PTR out_length) {
  int64_t call = atomic_load(&control->calls[F_SIGN]);
  if (length == 32) memcpy(control->digests[call % LOGGED], data, 32);
  ENTER(F_SIGN);
  if (atomic_load(&control->crash)) abort();
  int64_t tamper = atomic_load(&control->tamper);
  unsigned char other[32];
  if (tamper == TAMPER_OTHER_DIGEST && length == 32) {
    memcpy(other, data, 32);
    other[0] ^= 1;
    data = other;
  }
  CK_RV rv = SHARED(real()->C_Sign(session, data, length, out, out_length));
  if (rv != CKR_OK || !out) return rv;
  if (tamper == TAMPER_FLIP) out[40] ^= 4;
  if (tamper == TAMPER_ZERO_R) memset(out, 0, 32);
  if (tamper == TAMPER_SHORT) *out_length = 63;
  if (tamper == TAMPER_EMPTY) *out_length = 0;
  return rv;
}

static CK_RV my_sign(CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG length, CK_BYTE_PTR out, CK_ULONG_PTR out_length) {
  int64_t one_at_a_time = atomic_load(&control->serial);
  keep_maximum(&control->max_in_flight, atomic_fetch_add(&control->in_flight, 1) + 1);
  if (one_at_a_time) pthread_mutex_lock(&serial);
  CK_RV rv = sign(session, data, length, out, out_length);
  if (one_at_a_time) pthread_mutex_unlock(&serial);
  atomic_fetch_sub(&control->in_flight, 1);
  return rv;
}

static struct control *map_control(void) {
  Dl_info self;
  char path[4096];
  if (!dladdr((void *)&map_control, &self)) return NULL;
  snprintf(path, sizeof path, "%s.control", self.dli_fname);
  int fd = open(path, O_RDWR);
  if (fd < 0) return NULL;
  void *mapped = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return mapped == MAP_FAILED ? NULL : mapped;
}

static CK_RV load(void) {
  struct control *mapped = map_control();
  void *module = mapped ? dlopen(mapped->module, RTLD_NOW | RTLD_LOCAL) : NULL;
  get_real = module ? (CK_C_GetFunctionList)dlsym(module, "C_GetFunctionList") : NULL;
  if (!get_real) return CKR_GENERAL_ERROR;
  control = mapped;
  return CKR_OK;
}

/* The instance's own functions, with ours in place of those that tests have a say in. */
static void put_in_front_of(CK_FUNCTION_LIST_PTR instance, CK_FUNCTION_LIST_PTR out) {
  *out = *instance;
  out->C_GetFunctionList = C_GetFunctionList;
  out->C_Initialize = my_initialize;
  out->C_Finalize = my_finalize;
  out->C_GetInfo = my_get_info;
  out->C_GetSlotList = my_get_slot_list;
  out->C_GetSlotInfo = my_get_slot_info;
  out->C_GetTokenInfo = my_get_token_info;
  out->C_OpenSession = my_open_session;
  out->C_CloseSession = my_close_session;
  out->C_CloseAllSessions = my_close_all_sessions;
  out->C_GetSessionInfo = my_get_session_info;
  out->C_Login = my_login;
  out->C_Logout = my_logout;
  out->C_FindObjectsInit = my_find_objects_init;
  out->C_FindObjects = my_find_objects;
  out->C_FindObjectsFinal = my_find_objects_final;
  out->C_GetAttributeValue = my_get_attribute_value;
  out->C_SignInit = my_sign_init;
  out->C_Sign = my_sign;
}

static CK_RV add_instance(CK_FUNCTION_LIST_PTR_PTR out) {
  CK_FUNCTION_LIST_PTR instance;
  if (get_real(&instance) != CKR_OK) return CKR_GENERAL_ERROR;
  *out = &list;
  if (!first) put_in_front_of(first = instance, &list);
  if (instance != first) {
    many_instances = true;
    *out = malloc(sizeof list);
    if (!*out) return CKR_HOST_MEMORY;
    put_in_front_of(instance, *out);
    (*out)->C_GetInfo = instance->C_GetInfo;
  }
  here = (struct instance){.real = instance};
  for (enum strike kind = 0; kind < STRIKES; kind++) here.struck[kind] = atomic_load(&control->strike[kind]);
  return CKR_OK;
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST_PTR_PTR out) {
  pthread_mutex_lock(&loading);
  CK_RV rv = control ? CKR_OK : load();
  if (rv == CKR_OK) rv = add_instance(out);
  pthread_mutex_unlock(&loading);
  return rv;
}
