// The few constants of PKCS#11 that are used here, under their names in the specification (OASIS PKCS#11 v3.0). pkcs11js
// has most of them too, but only once it is loaded, and it may be missing.

export const CKF_OS_LOCKING_OK = 0x2;
export const CKF_SERIAL_SESSION = 0x4;

export const CKF_LOGIN_REQUIRED = 0x4;
export const CKF_PROTECTED_AUTHENTICATION_PATH = 0x100;
export const CKF_TOKEN_INITIALIZED = 0x400;
export const CKF_USER_PIN_FINAL_TRY = 0x20000;
export const CKF_USER_PIN_LOCKED = 0x40000;

export const CKU_USER = 1;
export const CKU_CONTEXT_SPECIFIC = 2;

export const CKS_RO_USER_FUNCTIONS = 1;
export const CKS_RW_USER_FUNCTIONS = 3;

export const CKO_CERTIFICATE = 1;
export const CKO_PUBLIC_KEY = 2;
export const CKO_PRIVATE_KEY = 3;

export const CKK_EC = 3;
export const CKC_X_509 = 0;
export const CKM_ECDSA = 0x1041;

export const CKA_CLASS = 0x0;
export const CKA_LABEL = 0x3;
export const CKA_VALUE = 0x11;
export const CKA_CERTIFICATE_TYPE = 0x80;
export const CKA_KEY_TYPE = 0x100;
export const CKA_ID = 0x102;
export const CKA_SIGN = 0x108;
export const CKA_PUBLIC_KEY_INFO = 0x129;
export const CKA_EC_PARAMS = 0x180;
export const CKA_EC_POINT = 0x181;
export const CKA_ALWAYS_AUTHENTICATE = 0x202;

export const CKR_SLOT_ID_INVALID = 0x3;
export const CKR_ARGUMENTS_BAD = 0x7;
export const CKR_NEED_TO_CREATE_THREADS = 0x9;
export const CKR_CANT_LOCK = 0xa;
export const CKR_ATTRIBUTE_SENSITIVE = 0x11;
export const CKR_ATTRIBUTE_TYPE_INVALID = 0x12;
export const CKR_OBJECT_HANDLE_INVALID = 0x82;
export const CKR_PIN_INCORRECT = 0xa0;
export const CKR_SESSION_CLOSED = 0xb0;
export const CKR_SESSION_COUNT = 0xb1;
export const CKR_SESSION_HANDLE_INVALID = 0xb3;
export const CKR_TOKEN_NOT_PRESENT = 0xe0;
export const CKR_TOKEN_NOT_RECOGNIZED = 0xe1;
export const CKR_USER_ALREADY_LOGGED_IN = 0x100;
export const CKR_USER_NOT_LOGGED_IN = 0x101;
export const CKR_USER_PIN_NOT_INITIALIZED = 0x102;
export const CKR_BUFFER_TOO_SMALL = 0x150;
export const CKR_CRYPTOKI_NOT_INITIALIZED = 0x190;
export const CKR_CRYPTOKI_ALREADY_INITIALIZED = 0x191;
export const CKR_LIBRARY_LOAD_FAILED = 0x1b7;
